-- What jobs leave for other jobs and for people: artifacts of runs, caches of repositories, and the trees of actions.
--
-- Bytes are blobs. A row is `uploading` until it is finished, `ready` from then on, and `gone` once nobody may read it
-- any more: then its blobs are deleted, and the row after them. While it is uploading, `size` counts what has come.
-- `number` is for clients that know things by numbers only; of two the later one is higher.

-- pre

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
) [clustered];
INSERT INTO counters (name, value) VALUES ('artifacts', 0), ('caches', 0);

CREATE TABLE upload_parts (
  upload_id TEXT NOT NULL,
  first_offset BIGINT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  blob_key TEXT NOT NULL,
  PRIMARY KEY (upload_id, first_offset)
) [clustered];

CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  number BIGINT NOT NULL,
  organization_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  first_run_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  name TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  state TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  blob_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX artifacts_number ON artifacts (number);
CREATE UNIQUE INDEX artifacts_name ON artifacts (run_id, name) WHERE state <> 'gone';
CREATE INDEX artifacts_run ON artifacts (first_run_id, name, number);
CREATE INDEX artifacts_target ON artifacts (target_id, state, size);
CREATE INDEX artifacts_expiry ON artifacts (expires_at);
CREATE INDEX artifacts_uploading ON artifacts (job_id) WHERE state = 'uploading';
CREATE INDEX artifacts_gone ON artifacts (id) WHERE state = 'gone';

CREATE TABLE caches (
  id TEXT PRIMARY KEY,
  number BIGINT NOT NULL,
  organization_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  ref TEXT NOT NULL,
  trusted SMALLINT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  run_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  state TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  blob_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX caches_number ON caches (number);
CREATE UNIQUE INDEX caches_key ON caches (target_id, ref, trusted, version, key) WHERE state <> 'gone';
CREATE INDEX caches_target ON caches (target_id, state, used_at, size);
CREATE INDEX caches_use ON caches (used_at);
CREATE INDEX caches_uploading ON caches (job_id) WHERE state = 'uploading';
CREATE INDEX caches_gone ON caches (id) WHERE state = 'gone';

CREATE TABLE stored_actions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  repository TEXT NOT NULL,
  name TEXT NOT NULL,
  ref TEXT NOT NULL,
  commit_sha TEXT NOT NULL,
  state TEXT NOT NULL,
  size BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  blob_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL
);
CREATE UNIQUE INDEX stored_actions_ref ON stored_actions (organization_id, name, ref) WHERE state = 'ready';
CREATE INDEX stored_actions_commit ON stored_actions (organization_id, name, commit_sha);
CREATE INDEX stored_actions_gone ON stored_actions (id) WHERE state = 'gone';

-- post
