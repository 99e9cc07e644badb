import { html } from "hono/html";
import ms from "ms";
import type { FlowPhase } from "../events/events.js";
import { instant } from "./history-texts.js";
import { pageStyle } from "./page-assets.js";

export { html };

/** A piece of a page. Only `html` makes one, and it escapes every text. */
export type Html = ReturnType<typeof html>;

interface PageFacts {
  /** Allows the page's own style and script. */
  readonly nonce: string;
  /** Absent if the user isn't known. */
  readonly user: string | undefined;
  readonly title: string;
  readonly content: Html;
  /** Whether the page reloads itself soon. */
  readonly reloads: boolean;
}

export function page({ nonce, user, title, content, reloads }: PageFacts): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – Operator console</title>
${reloads && html`<meta http-equiv="refresh" content="5">`}<link rel="icon" href="data:,"><style nonce="${nonce}">${pageStyle}</style>
<script nonce="${nonce}" src="?asset=script" defer></script></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="?">Operator console</a>${user !== undefined && html`<span class="soft">You are <b>${user}</b></span>`}</header>
<main id="main" tabindex="-1">${content}</main></body></html>
`;
}

export function fact(name: string, value: Html | string | undefined): Html | undefined {
  return value === undefined ? undefined : html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`;
}

/** Leads to the page of a flow. */
export function flowLink(key: string, content: Html | string): Html {
  return html`<a href="?${new URLSearchParams({ flow: key }).toString()}">${content}</a>`;
}

/** A script shows it in the reader's zone. */
export function time(atMs: number): Html {
  return html`<time datetime="${instant(atMs)}">${instant(atMs).slice(0, 19).replace("T", " ")} UTC</time>`;
}

/** Such as "3 hours". */
export function duration(durationMs: number): string {
  return ms(Math.max(0, durationMs), { long: true });
}

export function chip(kind: string, text: string): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}

export const phaseNames: Readonly<Record<FlowPhase | "elsewhere", string>> = {
  quoted: "Quoted",
  "funds-requested": "Taking the money",
  claimed: "Sending the payment",
  unknown: "Searching for the payment",
  held: "Needs review",
  refused: "Refunding the sender",
  paid: "Paid",
  rejected: "Not paid",
  declined: "Declined",
  elsewhere: "Of other services or gateways",
};
