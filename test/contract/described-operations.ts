/** The "Operations" table of the interface description 0.0.1. What the client can do has to be this, no more and no less. */
export const describedOperations = `
POST /payment-gateways
GET /payment-gateways
GET /payment-gateways/{}
PUT /payment-gateways/{}
POST /liquidity-providers
GET /liquidity-providers
GET /liquidity-providers/{}
PUT /liquidity-providers/{}
POST /liquidity-providers/{}/deposits
GET /liquidity-providers/{}/deposits
GET /liquidity-providers/{}/deposits/{}
PUT /liquidity-providers/{}/deposits/{}
POST /liquidity-providers/{}/withdrawals
GET /liquidity-providers/{}/withdrawals
GET /liquidity-providers/{}/withdrawals/{}
PUT /liquidity-providers/{}/withdrawals/{}
POST /liquidity-providers/{}/exchange-rates
GET /liquidity-providers/{}/exchange-rates
GET /liquidity-providers/{}/exchange-rates/{}
PUT /liquidity-providers/{}/exchange-rates/{}
POST /liquidity-providers/{}/transfers
GET /liquidity-providers/{}/transfers
GET /liquidity-providers/{}/transfers/{}
PUT /liquidity-providers/{}/transfers/{}
GET /payment-gateways/{}/withdrawals
GET /payment-gateways/{}/withdrawals/{}
PUT /payment-gateways/{}/withdrawals/{}
POST /payment-intents
GET /payment-intents/{}
POST /payments
GET /payments
`
  .trim()
  .split("\n");
