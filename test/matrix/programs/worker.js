import { CrossBorderClient } from "cross-border-payments";
import { story } from "./story.js";

let client;

/** For Workers: the story, or a list by a client that all requests share. */
export default {
  async fetch(request) {
    const settings = await request.json();
    if (new URL(request.url).pathname === "/story") return Response.json(await story(settings));
    client ??= new CrossBorderClient(settings.service);
    try {
      const { items } = await client.paymentGateways.list({}, { timeoutMs: settings.timeoutMs });
      return Response.json(items.map(({ institutionId }) => institutionId));
    } catch (error) {
      return Response.json(error.name);
    }
  },
};
