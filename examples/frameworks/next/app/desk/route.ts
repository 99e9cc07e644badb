import { start } from "../../payments.ts";

export async function GET(request: Request): Promise<Response> {
  const { desk } = await start();
  return desk(request);
}

export { GET as POST };
