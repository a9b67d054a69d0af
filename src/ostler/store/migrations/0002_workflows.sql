-- Workflows: the repositories they come from, what sets them off, and how far each of their runs has come.
--
-- A workflow run has the id of its row in `runs`, where people find it beside all other runs; each attempt of it is a
-- run of its own, tied to the others by `first_run_id`. Its jobs have no siblings (0): what becomes of the run is not
-- reduced from their states but decided by the workflow. `workflow_wakes` are reasons to look at a run again, each
-- written in the transaction that gave the reason, and taken away in the one that drew the conclusions.

-- pre

CREATE TABLE targets (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  clone_url TEXT NOT NULL,
  default_branch TEXT NOT NULL,
  workflows_path TEXT NOT NULL,
  forge TEXT NOT NULL,
  forge_url TEXT NOT NULL,
  pool TEXT NOT NULL,
  username TEXT NOT NULL,
  sealed_password [bytes],
  sealed_webhook_secret [bytes],
  sealed_forge_token [bytes],
  disabled SMALLINT NOT NULL,
  synced_at BIGINT,
  synced_sha TEXT NOT NULL,
  fault TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX targets_name ON targets (organization_id, name);

CREATE TABLE target_values (
  target_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  sealed [bytes],
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (target_id, kind, name)
) [clustered];

CREATE TABLE workflows (
  id TEXT PRIMARY KEY,
  target_id TEXT NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  definition TEXT NOT NULL,
  fault TEXT NOT NULL,
  present SMALLINT NOT NULL,
  disabled SMALLINT NOT NULL,
  last_number BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX workflows_path ON workflows (target_id, path);

CREATE TABLE deliveries (
  target_id TEXT NOT NULL,
  delivery TEXT NOT NULL,
  event TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (target_id, delivery)
) [clustered];
CREATE INDEX deliveries_age ON deliveries (received_at);

CREATE TABLE triggers (
  id TEXT PRIMARY KEY,
  target_id TEXT NOT NULL,
  workflow_id TEXT,
  event TEXT NOT NULL,
  source TEXT NOT NULL,
  actor TEXT NOT NULL,
  happening TEXT NOT NULL,
  state TEXT NOT NULL,
  outcome TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  open SMALLINT NOT NULL GENERATED ALWAYS AS (CASE WHEN state = 'open' THEN 1 ELSE 0 END) STORED
);
CREATE INDEX triggers_due ON triggers (due_at) WHERE open = 1;
CREATE INDEX triggers_target ON triggers (target_id, id);

CREATE TABLE workflow_runs (
  run_id TEXT PRIMARY KEY,
  target_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  trigger_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  first_run_id TEXT NOT NULL,
  event TEXT NOT NULL,
  ref TEXT NOT NULL,
  sha TEXT NOT NULL,
  actor TEXT NOT NULL,
  trusted SMALLINT NOT NULL,
  phase TEXT NOT NULL,
  conclusion TEXT NOT NULL,
  note TEXT NOT NULL,
  cancel_reason TEXT,
  approved_by TEXT,
  rerun TEXT NOT NULL,
  plan TEXT NOT NULL,
  state TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE UNIQUE INDEX workflow_runs_attempt ON workflow_runs (first_run_id, attempt);
CREATE INDEX workflow_runs_workflow ON workflow_runs (workflow_id, run_id);
CREATE INDEX workflow_runs_target ON workflow_runs (target_id, run_id);

CREATE TABLE workflow_nodes (
  run_id TEXT NOT NULL,
  node TEXT NOT NULL,
  position BIGINT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  parents TEXT NOT NULL,
  matrix TEXT NOT NULL,
  state TEXT NOT NULL,
  conclusion TEXT NOT NULL,
  note TEXT NOT NULL,
  parent TEXT NOT NULL,
  job_id TEXT,
  PRIMARY KEY (run_id, node)
) [clustered];
CREATE INDEX workflow_nodes_job ON workflow_nodes (job_id);

CREATE TABLE workflow_wakes (
  run_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  PRIMARY KEY (run_id, reason)
) [clustered];
CREATE INDEX workflow_wakes_due ON workflow_wakes (due_at);

CREATE TABLE concurrency_groups (
  target_id TEXT NOT NULL,
  name TEXT NOT NULL,
  run_id TEXT NOT NULL,
  node TEXT NOT NULL,
  held SMALLINT NOT NULL,
  unwanted SMALLINT NOT NULL,
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (target_id, name, run_id, node)
) [clustered];
CREATE INDEX concurrency_groups_run ON concurrency_groups (run_id);

CREATE TABLE schedules (
  workflow_id TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  target_id TEXT NOT NULL,
  next_at BIGINT NOT NULL,
  last_at BIGINT,
  missed BIGINT NOT NULL,
  PRIMARY KEY (workflow_id, cron, timezone)
) [clustered];
CREATE INDEX schedules_next ON schedules (next_at);

CREATE TABLE forge_statuses (
  target_id TEXT NOT NULL,
  sha TEXT NOT NULL,
  context TEXT NOT NULL,
  run_id TEXT NOT NULL,
  state TEXT NOT NULL,
  description TEXT NOT NULL,
  version BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  PRIMARY KEY (target_id, sha, context)
) [clustered];
CREATE INDEX forge_statuses_due ON forge_statuses (due_at);

CREATE TABLE job_outputs (
  job_id TEXT PRIMARY KEY,
  outputs TEXT NOT NULL
) [clustered];

CREATE TABLE annotations (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  number BIGINT NOT NULL,
  step BIGINT NOT NULL,
  level TEXT NOT NULL,
  title TEXT NOT NULL,
  message TEXT NOT NULL,
  file TEXT NOT NULL,
  line BIGINT NOT NULL,
  end_line BIGINT NOT NULL,
  start_column BIGINT NOT NULL,
  end_column BIGINT NOT NULL,
  PRIMARY KEY (job_id, fence, number)
) [clustered];

CREATE TABLE summaries (
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  step BIGINT NOT NULL,
  markdown TEXT NOT NULL,
  PRIMARY KEY (job_id, fence, step)
);

-- post
