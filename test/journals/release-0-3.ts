/** Tables as release 0.3.0 made them, with flows that nothing is left to do for. */
export const sqliteRelease03 = `
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
  PRAGMA user_version = 3;
  PRAGMA journal_mode = WAL;
  ALTER TABLE flows ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE flows ADD COLUMN lease_ms INTEGER;
  ALTER TABLE flows ADD COLUMN lease_nonce TEXT;
  ALTER TABLE flows ADD COLUMN incarnation_mark TEXT;
  INSERT INTO flows (key, epoch, revision, phase, settled, data, evidence, owner, lease_nonce, created_at_ms, updated_at_ms, expires_at_ms, pruned_at_ms, service, gateway, nonce) VALUES
    ('held', 2, 4, 'held', 1, 'é held', '{}', 'old process', 'n', 1700000000000, 1700000000100, NULL, NULL, 'https://service.example/v1', 'gateway-1', 'n'),
    ('paid', 1, 3, 'paid', 1, 'paid', '{}', 'old process', 'n', 1700000000000, 1700000000200, NULL, NULL, 'https://service.example/v1', 'gateway-1', 'n'),
    ('pruned', 1, 3, 'declined', 1, '', '', 'old process', 'n', 1700000000000, 1700000000200, NULL, 1700000000300, 'https://service.example/v1', 'gateway-1', 'n'),
    ('quote', 1, 1, 'quoted', 1, '{}', '{}', 'old process', 'n', 1700000000000, 1700000000000, 4102444800000, NULL, 'https://service.example/v1', 'gateway-1', 'n');`;

export const postgresRelease03 = (schema: string): string => `
  CREATE SCHEMA "${schema}";
  CREATE TABLE "${schema}"."cross_border_flows_version" (version integer NOT NULL);
  INSERT INTO "${schema}"."cross_border_flows_version" (version) VALUES (3);
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
  ALTER TABLE "${schema}"."cross_border_flows"
    ALTER COLUMN service SET NOT NULL,
    ALTER COLUMN gateway SET NOT NULL,
    ADD COLUMN revision bigint NOT NULL DEFAULT 1,
    ADD COLUMN lease_ms bigint,
    ADD COLUMN lease_nonce text COLLATE "C",
    ADD COLUMN incarnation_mark text COLLATE "C";
  INSERT INTO "${schema}"."cross_border_flows" (key, epoch, revision, phase, settled, data, evidence, owner, lease_nonce, created_at, updated_at, expires_at, pruned_at, service, gateway, nonce) VALUES
    ('held', 2, 4, 'held', true, 'é held', '{}', 'old process', 'n', to_timestamp(1700000000.0), to_timestamp(1700000000.1), NULL, NULL, 'https://service.example/v1', 'gateway-1', 'n'),
    ('paid', 1, 3, 'paid', true, 'paid', '{}', 'old process', 'n', to_timestamp(1700000000.0), to_timestamp(1700000000.2), NULL, NULL, 'https://service.example/v1', 'gateway-1', 'n'),
    ('pruned', 1, 3, 'declined', true, '', '', 'old process', 'n', to_timestamp(1700000000.0), to_timestamp(1700000000.2), NULL, to_timestamp(1700000000.3), 'https://service.example/v1', 'gateway-1', 'n'),
    ('quote', 1, 1, 'quoted', true, '{}', '{}', 'old process', 'n', to_timestamp(1700000000.0), to_timestamp(1700000000.0), to_timestamp(4102444800.0), NULL, 'https://service.example/v1', 'gateway-1', 'n');`;

/** A payment whose outcome release 0.3.0 doesn't know yet. */
export const isOpen = "SET settled = false, phase = 'unknown' WHERE key = 'held'";
