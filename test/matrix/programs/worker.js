import { story } from "./story.js";

/** For Workers. */
export default {
  async fetch(request) {
    return Response.json(await story(await request.json()));
  },
};
