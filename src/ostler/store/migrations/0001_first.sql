-- The first schema. Times are integer microseconds since 1970 UTC, ids and JSON are text.
--
-- [bytes] is the dialect's type for raw bytes; [clustered] keeps a SQLite table in the order of its primary key;
-- [updated] leaves room in PostgreSQL's pages, so that a row's next version fits beside it.
--
-- An index is rewritten with every change of a column that it names, in its condition too. So the indexes of jobs and
-- attempts name `waiting` and `held`, which change once or twice in a job's life, and not the states and the leases.
-- What is under "-- pre" may run while the previous release still serves; "-- post" runs once it is gone.

-- pre

CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  default_pool_id TEXT,
  created_at BIGINT NOT NULL
);

CREATE TABLE pools (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT NOT NULL,
  labels TEXT NOT NULL,
  replicas BIGINT NOT NULL,
  job_kinds TEXT NOT NULL,
  allow_multiple_instances SMALLINT NOT NULL,
  disabled SMALLINT NOT NULL,
  hosted SMALLINT NOT NULL,
  ever_live SMALLINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX pools_name ON pools (organization_id, name);
CREATE UNIQUE INDEX pools_slug ON pools (organization_id, slug);

CREATE TABLE runners (
  id TEXT PRIMARY KEY,
  pool_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  status TEXT NOT NULL,
  admission TEXT NOT NULL,
  note TEXT NOT NULL,
  paused_until BIGINT,
  enrolled_labels TEXT NOT NULL,
  hello TEXT NOT NULL,
  metrics TEXT NOT NULL,
  version TEXT NOT NULL,
  error TEXT NOT NULL,
  enrol_key TEXT NOT NULL,
  last_seen_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX runners_name ON runners (pool_id, name);

CREATE TABLE runner_keys (
  runner_id TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  revoked_at BIGINT,
  PRIMARY KEY (runner_id, public_key)
) [clustered];
CREATE INDEX runner_keys_key ON runner_keys (public_key);

CREATE TABLE assertion_jti (
  runner_id TEXT NOT NULL,
  jti TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (runner_id, jti)
) [clustered];
CREATE INDEX assertion_jti_expiry ON assertion_jti (expires_at);

CREATE TABLE runner_history (
  runner_id TEXT PRIMARY KEY,
  pool_id TEXT NOT NULL,
  name TEXT NOT NULL,
  facts TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  retired_at BIGINT NOT NULL
) [clustered];

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  disabled SMALLINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_name ON users (organization_id, name);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  digest TEXT NOT NULL,
  user_id TEXT,
  pool_id TEXT,
  uses_left BIGINT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  last_used_at BIGINT
);
CREATE UNIQUE INDEX tokens_digest ON tokens (digest);

CREATE TABLE sign_in_codes (
  digest TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL
) [clustered];

CREATE TABLE sessions (
  digest TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) [clustered];
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  pool_id TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  submitted_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT
);
CREATE INDEX runs_state ON runs (state, id);

CREATE TABLE demand_classes (
  id TEXT PRIMARY KEY,
  pool_id TEXT NOT NULL,
  slot TEXT NOT NULL,
  kind TEXT NOT NULL,
  labels TEXT NOT NULL,
  runner_name TEXT NOT NULL,
  isolation TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  pool_id TEXT NOT NULL,
  demand_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  fence BIGINT NOT NULL,
  siblings BIGINT NOT NULL,
  has_secrets SMALLINT NOT NULL,
  priority BIGINT NOT NULL,
  urgency BIGINT NOT NULL,
  position BIGINT NOT NULL,
  pool_level TEXT NOT NULL,
  timeout_ms BIGINT,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  failure TEXT,
  exit_code BIGINT,
  cancel_reason TEXT,
  waiting SMALLINT NOT NULL GENERATED ALWAYS AS (CASE WHEN state = 'queued' THEN 1 ELSE 0 END) STORED
) [updated];
CREATE INDEX jobs_waiting ON jobs (demand_id, urgency, position, id) WHERE waiting = 1;
CREATE INDEX jobs_queue ON jobs (pool_id, urgency, position, id) WHERE waiting = 1;
CREATE INDEX jobs_run ON jobs (run_id);

CREATE TABLE job_specs (
  job_id TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  sealed [bytes]
);

CREATE TABLE attempts (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  runner_id TEXT NOT NULL,
  runner_name TEXT NOT NULL,
  slot TEXT NOT NULL,
  state TEXT NOT NULL,
  claim_key TEXT NOT NULL,
  start_key TEXT,
  finish_key TEXT,
  claimed_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  lease_expires_at BIGINT,
  events_stored BIGINT NOT NULL,
  log_bytes BIGINT NOT NULL,
  log_lines BIGINT NOT NULL,
  log_sealed BIGINT NOT NULL,
  failure TEXT,
  exit_code BIGINT,
  held SMALLINT NOT NULL GENERATED ALWAYS AS (CASE WHEN lease_expires_at IS NULL THEN 0 ELSE 1 END) STORED,
  PRIMARY KEY (job_id, fence)
) [clustered] [updated twice];
CREATE UNIQUE INDEX attempts_open ON attempts (runner_id, slot) WHERE held = 1;

CREATE TABLE steps (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  step BIGINT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  exit_code BIGINT,
  signal BIGINT,
  first_line BIGINT,
  last_line BIGINT,
  cpu_ms BIGINT,
  max_memory_bytes BIGINT,
  PRIMARY KEY (job_id, fence, step)
) [clustered];

CREATE TABLE log_chunks (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  first_offset BIGINT NOT NULL,
  length BIGINT NOT NULL,
  first_line BIGINT NOT NULL,
  newlines BIGINT NOT NULL,
  frames [bytes] NOT NULL,
  PRIMARY KEY (job_id, fence, first_offset)
);

CREATE TABLE log_segments (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  first_offset BIGINT NOT NULL,
  length BIGINT NOT NULL,
  first_line BIGINT NOT NULL,
  newlines BIGINT NOT NULL,
  blob_key TEXT NOT NULL,
  stored_bytes BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (job_id, fence, first_offset)
) [clustered];
CREATE INDEX log_segments_age ON log_segments (created_at);

CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  effect TEXT NOT NULL,
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL
) [clustered];
CREATE INDEX outbox_due ON outbox (due_at);

CREATE TABLE loop_leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  term BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  worked_at BIGINT NOT NULL
) [clustered];

CREATE TABLE idempotency (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  subject TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (scope, key)
) [clustered];
CREATE INDEX idempotency_age ON idempotency (created_at);

INSERT INTO organizations (id, name, default_pool_id, created_at) VALUES ('org_default', 'default', NULL, 0);
INSERT INTO pools (id, organization_id, name, slug, description, labels, replicas, job_kinds,
                   allow_multiple_instances, disabled, hosted, ever_live, created_at)
VALUES ('pool_hosted', 'org_default', 'hosted', 'hosted', 'Runners of this installation', '[]', 1, '[]', 1, 0, 1, 0, 0);

-- post
