/** A longer form isn't read: a payment's record, the longest field, has a few thousand bytes. */
export const maxFormBytes = 256 * 1024;

/** The fields of a page's form, or an HTTP status if it isn't one. */
export async function readForm(request: Request): Promise<URLSearchParams | 413 | 415> {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") return 415;
  if (Number(request.headers.get("content-length") ?? 0) > maxFormBytes) return 413;
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
    if (bytes > maxFormBytes) {
      await reader.cancel();
      return 413;
    }
    text += decoder.decode(value, { stream: true });
  }
  return new URLSearchParams(text);
}
