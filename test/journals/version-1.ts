/** Tables as version 1 of the journals made them, with flows in several phases. Released migrations never change, so it is a copy. */
export const sqliteVersion1 = `
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
  CREATE INDEX flows_by_phase ON flows (phase, key);
  CREATE INDEX flows_unsettled ON flows (key) WHERE settled = 0;
  PRAGMA application_id = 1128419402;
  PRAGMA user_version = 1;
  PRAGMA journal_mode = WAL;
  INSERT INTO flows VALUES
    ('claimed', 3, 'claimed', 0, 'é claim', 'old process', 1700000000500, 1700000000000, 1700000000400),
    ('created', 1, 'created', 0, '{}', 'old process', NULL, 1700000000000, 1700000000000),
    ('held', 2, 'held', 1, 'held', 'old process', NULL, 1700000000000, 1700000000100),
    ('paid', 1, 'paid', 1, 'paid', 'old process', NULL, 1700000000000, 1700000000200),
    ('running', 1, 'funds-taken', 0, '{}', 'old process', 4000000000000, 1700000000000, 1700000000300);`;

export const postgresVersion1 = (schema: string): string => `
  CREATE SCHEMA "${schema}";
  CREATE TABLE "${schema}"."cross_border_flows_version" (version integer NOT NULL);
  INSERT INTO "${schema}"."cross_border_flows_version" (version) VALUES (1);
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
  CREATE INDEX "cross_border_flows_by_phase" ON "${schema}"."cross_border_flows" (phase, key);
  CREATE INDEX "cross_border_flows_unsettled" ON "${schema}"."cross_border_flows" (key) WHERE NOT settled;
  INSERT INTO "${schema}"."cross_border_flows" VALUES
    ('claimed', 3, 'claimed', false, 'é claim', 'old process', to_timestamp(1700000000.5), to_timestamp(1700000000), to_timestamp(1700000000.4)),
    ('created', 1, 'created', false, '{}', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000)),
    ('held', 2, 'held', true, 'held', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000.1)),
    ('paid', 1, 'paid', true, 'paid', 'old process', NULL, to_timestamp(1700000000), to_timestamp(1700000000.2)),
    ('running', 1, 'funds-taken', false, '{}', 'old process', to_timestamp(4000000000), to_timestamp(1700000000), to_timestamp(1700000000.3));`;
