/** Tables as release 0.2.0 made them, with flows in several phases. Released migrations never change, so it is a copy. */
export const sqliteRelease02 = `
  CREATE TABLE flows (
    key TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL,
    phase TEXT NOT NULL,
    settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
    data TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX flows_unsettled ON flows (key) WHERE settled = 0;
  ALTER TABLE flows ADD COLUMN service TEXT;
  ALTER TABLE flows ADD COLUMN gateway TEXT;
  ALTER TABLE flows ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
  ALTER TABLE flows ADD COLUMN evidence TEXT NOT NULL DEFAULT '';
  ALTER TABLE flows ADD COLUMN expires_at_ms INTEGER;
  ALTER TABLE flows ADD COLUMN pruned_at_ms INTEGER;
  CREATE INDEX flows_settled ON flows (phase, key, service, gateway) WHERE settled = 1 AND pruned_at_ms IS NULL;
  PRAGMA application_id = 1128419402;
  PRAGMA user_version = 2;
  PRAGMA journal_mode = WAL;
  INSERT INTO flows (key, epoch, phase, settled, data, owner, lease_until_ms, created_at_ms, updated_at_ms, service, gateway, nonce) VALUES
    ('claimed', 3, 'claimed', 0, 'é claim', 'old process', 1700000000500, 1700000000000, 1700000000400, 'https://service.example', 'gateway-1', 'n'),
    ('held', 2, 'held', 1, 'held', 'old process', NULL, 1700000000000, 1700000000100, 'https://service.example', 'gateway-1', 'n'),
    ('left', 1, 'unknown', 0, '{}', 'old process', NULL, 1700000000000, 1700000000000, 'https://service.example', 'gateway-1', 'n'),
    ('paid', 1, 'paid', 1, 'paid', 'old process', NULL, 1700000000000, 1700000000200, 'https://service.example', 'gateway-1', 'n'),
    ('running', 1, 'funds-requested', 0, '{}', 'old process', 4000000000000, 1700000000000, 1700000000300, 'https://service.example', 'gateway-1', 'n');`;

export const postgresRelease02 = (schema: string): string => `
  CREATE SCHEMA "${schema}";
  CREATE TABLE "${schema}"."cross_border_flows_version" (version integer NOT NULL);
  INSERT INTO "${schema}"."cross_border_flows_version" (version) VALUES (2);
  CREATE TABLE "${schema}"."cross_border_flows" (
    key text COLLATE "C" NOT NULL PRIMARY KEY,
    epoch bigint NOT NULL,
    phase text COLLATE "C" NOT NULL,
    settled boolean NOT NULL,
    data text NOT NULL,
    owner text NOT NULL,
    lease_until timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  );
  CREATE INDEX "cross_border_flows_unsettled" ON "${schema}"."cross_border_flows" (key) WHERE NOT settled;
  ALTER TABLE "${schema}"."cross_border_flows"
    ADD COLUMN service text COLLATE "C",
    ADD COLUMN gateway text COLLATE "C",
    ADD COLUMN nonce text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN evidence text NOT NULL DEFAULT '',
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN pruned_at timestamptz;
  ALTER TABLE "${schema}"."cross_border_flows" ADD COLUMN settled_phase text COLLATE "C"
    GENERATED ALWAYS AS (CASE WHEN settled AND pruned_at IS NULL THEN phase END) STORED;
  CREATE INDEX "cross_border_flows_settled" ON "${schema}"."cross_border_flows" (settled_phase, key) WHERE settled_phase IS NOT NULL;
  INSERT INTO "${schema}"."cross_border_flows" (key, epoch, phase, settled, data, owner, lease_until, created_at, updated_at, service, gateway, nonce) VALUES
    ('claimed', 3, 'claimed', false, 'é claim', 'old process', to_timestamp(1700000000.5), to_timestamp(1700000000), to_timestamp(1700000000.4), 'https://service.example', 'gateway-1', 'n'),
    ('held', 2, 'held', true, 'held', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000.1), 'https://service.example', 'gateway-1', 'n'),
    ('left', 1, 'unknown', false, '{}', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000), 'https://service.example', 'gateway-1', 'n'),
    ('paid', 1, 'paid', true, 'paid', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000.2), 'https://service.example', 'gateway-1', 'n'),
    ('running', 1, 'funds-requested', false, '{}', 'old process', to_timestamp(4000000000), to_timestamp(1700000000), to_timestamp(1700000000.3), 'https://service.example', 'gateway-1', 'n');`;

/** Release 0.2.0 went on with what 0.1.0 had begun, and gave it no scope. */
export const beganByRelease01 = "SET service = NULL, gateway = NULL WHERE key IN ('held', 'paid')";
