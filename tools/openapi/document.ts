import { type FieldKind, type FieldTable, fieldKinds } from "../../src/api/fields.js";
import type { BodyFields, Operation } from "../../src/api/operation.js";
import { describedVersion, operations } from "../../src/resources/catalogue.js";
import { type ResourceDocs, readDocstrings } from "./docstrings.js";

type Json = { readonly [name: string]: unknown };

/** What `openapi.json` has to hold. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(readDocstrings("src/resources")), undefined, "\t")}\n`;
}

/**
 * The operations as an OpenAPI 3.1 document, made from the rows that the client, the sandbox and the tests read.
 *
 * What the description does not show stays open: no field of a body is required, and no value restricted, unless it says so.
 */
function openApiDocument(docs: ReadonlyMap<string, ResourceDocs>): Json {
  const rows = [...operations.values()].map((row) => new DescribedRow(row, docsOf(docs, row)));
  return {
    openapi: "3.1.0",
    info: {
      title: "Cross-Border Payment Service",
      version: describedVersion,
      summary: "Payment gateways, liquidity providers and cross-border payments between gateways.",
      description: `Made from the rows of operations of cross-border-payments, which follow interface description ${describedVersion}. What that description does not show is left open here.`,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [
      {
        url: "{base_url}",
        description: "The address that the service gives its gateways.",
        variables: { base_url: { default: "https://service.example" } },
      },
    ],
    security: [{ oauth: [] }],
    tags: tagsOf(rows),
    paths: pathsOf(rows),
    components: {
      schemas: Object.fromEntries(rows.flatMap((row) => row.schemas())),
      responses: {
        Unauthorized: { description: "The access token is missing or invalid. Its body is not described." },
      },
      securitySchemes: { oauth },
    },
  };
}

/** Its addresses are examples: `{auth_url}` and the realm are given at onboarding. */
const realm = "https://id.example/auth/realms/realm/protocol/openid-connect";
const oauth = {
  type: "oauth2",
  description: "Back ends use the password grant, front ends the authorization code grant.",
  flows: {
    password: { tokenUrl: `${realm}/token`, refreshUrl: `${realm}/token`, scopes: {} },
    authorizationCode: {
      authorizationUrl: `${realm}/auth`,
      tokenUrl: `${realm}/token`,
      refreshUrl: `${realm}/token`,
      scopes: {},
    },
  },
};

/** One row with what the comments say of it. */
class DescribedRow {
  readonly row: Operation;
  readonly docs: ResourceDocs;

  constructor(row: Operation, docs: ResourceDocs) {
    this.row = row;
    this.docs = docs;
  }

  get tag(): string {
    return this.row.name.slice(0, this.row.name.lastIndexOf("."));
  }

  operation(): Json {
    const { name, verb, signed, body } = this.row;
    const summary = this.docs.methods.get(verb);
    if (summary === undefined) throw new Error(`the method of ${name} has no TSDoc`);
    return {
      operationId: name,
      summary,
      tags: [this.tag],
      ...(signed ? { description: signedText } : undefined),
      ...nonEmpty("parameters", this.#parameters()),
      ...(body === undefined
        ? undefined
        : { requestBody: { required: true, content: jsonOf(reference(this.#bodyName)) } }),
      responses: this.#responses(),
    };
  }

  /** Of the record, and of the body. */
  schemas(): [string, Json][] {
    const { record, text, fields } = this.docs;
    const ofRecord = {
      type: "object",
      description: text,
      required: ["id"],
      properties: this.#properties(this.row.record),
    };
    const { body } = this.row;
    const schemas: [string, Json][] = [
      [record, ofRecord],
      [errorName(this.row), errorSchema(this.row)],
    ];
    if (body !== undefined) schemas.push([this.#bodyName, bodySchema(body, fields)]);
    return schemas;
  }

  get #bodyName(): string {
    return this.docs.record + (this.row.verb === "create" ? "Create" : "Update");
  }

  #properties(table: FieldTable): Json {
    return propertiesOf(table, this.docs.fields);
  }

  #parameters(): Json[] {
    const { path, query, verb, signed } = this.row;
    const ofPath = path.parameters.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
    const ofPage = verb === "list" ? paging : [];
    return [...ofPath, ...(signed ? [signatureHeader] : []), ...ofPage, ...queryOf(query, verb, this.docs.fields)];
  }

  #responses(): Json {
    const { verb } = this.row;
    const { record } = this.docs;
    const refused = { description: "Invalid request.", content: jsonOf(reference(errorName(this.row))) };
    const isOfTwoSteps = verb === "create" && /^payment(Intent)?s\.create$/.test(this.row.name);
    return {
      200: { description: doneTexts[verb], ...(verb === "update" ? undefined : { content: contentOf(verb, record) }) },
      400: refused,
      401: { $ref: "#/components/responses/Unauthorized" },
      ...(isOfTwoSteps ? { "4XX": { ...refused, description: "The service refuses the request." } } : undefined),
    };
  }
}

const signedText =
  "Signed: RSA with SHA-256 (PKCS#1 v1.5) over the request path without host, immediately followed by the raw body.";

const signatureHeader = {
  name: "X-SERVICE-SIGNATURE-BASE64",
  in: "header",
  required: true,
  description: "The signature, Base64 on a single line.",
  schema: { type: "string" },
};

const paging = [
  { name: "_size", in: "query", description: "Limits the items on a page.", schema: { type: "integer" } },
  { name: "_before", in: "query", description: "A pagingToken, as upper bound.", schema: { type: "string" } },
  { name: "_after", in: "query", description: "A pagingToken, as lower bound.", schema: { type: "string" } },
  {
    name: "_sort",
    in: "query",
    description: "fieldname.asc or fieldname.desc, several separated by commas.",
    schema: { type: "string", examples: ["createdAt.asc,id.desc"] },
  },
];

const doneTexts = {
  create: "The created record.",
  get: "The record.",
  list: "Records.",
  update: "Updated. Its body is not described.",
};

function queryOf(query: Operation["query"], verb: string, comments: ReadonlyMap<string, string>): Json[] {
  if (query === undefined) return [];
  if (query === "open") {
    const schema = { type: "object", additionalProperties: { type: "string" } };
    const description = "Filters. Which there are is not shown.";
    return [{ name: "filters", in: "query", style: "form", explode: true, description, schema }];
  }
  return Object.entries(query).map(([name, kind]) => {
    const { description, readOnly: _, ...schema } = schemaOf(name, kind, comments);
    const text = verb === "get" ? "Its effect on a single record is not shown." : description;
    return { name, in: "query", ...(text === undefined ? undefined : { description: text }), schema };
  });
}

function bodySchema({ fields, required, oneOf = {} }: BodyFields, comments: ReadonlyMap<string, string>): Json {
  const properties = Object.entries(propertiesOf(fields, comments)).map(([name, schema]) => {
    const values = oneOf[name];
    return [name, values === undefined ? schema : { ...(schema as Json), enum: values }];
  });
  return { type: "object", ...nonEmpty("required", required), properties: Object.fromEntries(properties) };
}

function propertiesOf(table: FieldTable, comments: ReadonlyMap<string, string>): Json {
  return Object.fromEntries(Object.entries(table).map(([name, kind]) => [name, schemaOf(name, kind, comments)]));
}

function schemaOf(name: string, kind: FieldKind, comments: ReadonlyMap<string, string>): Json {
  const description = comments.get(name);
  const example = examples[name];
  return {
    ...kindSchemas[kind],
    ...(description === undefined ? undefined : { description }),
    ...(example === undefined ? undefined : { examples: [example] }),
  };
}

const kindSchemas: Readonly<Record<FieldKind, Json>> = {
  text: { type: "string" },
  decimal: { type: "string", format: "decimal", examples: ["12.50"] },
  timestamp: { type: "string", format: "date-time", examples: ["2026-01-31T12:00:00.123456Z"] },
  status: { type: "string" },
  paymentStatus: { type: "string", enum: fieldKinds.paymentStatus.expected.split(/, | or /) },
  integer: { type: "integer" },
  publicKey: { type: "string", contentEncoding: "base64" },
  secret: { type: "string", format: "password" },
  account: { type: "string" },
  any: {},
};

/** Where the kind has none, or another one. */
const examples: Readonly<Record<string, string>> = {
  senderGatewayStatus: "processed",
  receiverGatewayStatus: "pending",
};

function errorName({ verb }: Operation): string {
  return verb === "get" ? "ReadError" : "Error";
}

function errorSchema(row: Operation): Json {
  const name = row.verb === "get" ? "code" : "error";
  return {
    type: "object",
    description: row.verb === "get" ? "Why a single record is not given." : "Why a request is refused.",
    required: [name, "message"],
    properties: { [name]: { type: "string" }, message: { type: "string" } },
  };
}

function contentOf(verb: string, record: string): Json {
  return jsonOf(verb === "list" ? { type: "array", items: reference(record) } : reference(record));
}

const jsonOf = (schema: Json): Json => ({ "application/json": { schema } });
const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const nonEmpty = (name: string, values: readonly unknown[]): Json => (values.length === 0 ? {} : { [name]: values });

function pathsOf(rows: readonly DescribedRow[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const described of rows) {
    const { path, method } = described.row;
    paths[path.text] = { ...paths[path.text], [method.toLowerCase()]: described.operation() };
  }
  return paths;
}

function tagsOf(rows: readonly DescribedRow[]): Json[] {
  const texts = new Map(rows.map(({ tag, docs }) => [tag, docs.text]));
  return [...texts].map(([name, description]) => ({ name, description }));
}

function docsOf(docs: ReadonlyMap<string, ResourceDocs>, { name }: Operation): ResourceDocs {
  const found = docs.get(name.slice(0, name.lastIndexOf(".")));
  if (found === undefined) throw new Error(`no interface was found for ${name}`);
  return found;
}
