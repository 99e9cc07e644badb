import { start } from "../../payments.ts";

export async function GET(request: Request): Promise<Response> {
  const { login } = await start();
  return login(request);
}

export { GET as POST };
