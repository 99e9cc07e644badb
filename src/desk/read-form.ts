/** A longer form is not read: a payment's record, the longest thing in one, has a few thousand bytes. */
export const mostFormBytes = 256 * 1024;

/** What a page's form says; a status of HTTP where it is none. */
export async function readForm(request: Request): Promise<URLSearchParams | 413 | 415> {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") return 415;
  if (Number(request.headers.get("content-length") ?? 0) > mostFormBytes) return 413;
  if (request.bodyUsed) {
    throw new TypeError(
      "the form was read before the desk had it: mount the desk before what reads bodies, or give it a clone of the request",
    );
  }
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for (const reader = request.body?.getReader(); reader !== undefined; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > mostFormBytes) {
      await reader.cancel();
      return 413;
    }
    text += decoder.decode(value, { stream: true });
  }
  return new URLSearchParams(text);
}
