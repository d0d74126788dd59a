// Calls to the daemon. An answer that says no becomes a `Refused` with the server's own words.

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = error?.code ?? "failed";
    this.field = error?.field ?? null;
    this.error = error ?? {};
  }
}

/** Call an endpoint. `body` is sent as JSON; `signal` ends the call; `headers` are added. */
export async function call(method, path, { body, headers = {}, signal } = {}) {
  const options = { method, signal, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "offline", message: "" });
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    throw new Refused(401, { code: "logged_out", message: "" });
  }
  const data = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
  if (!response.ok) throw new Refused(response.status, data?.error);
  return data;
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { body, ...options });
export const patch = (path, body, options) => call("PATCH", path, { body, ...options });
export const remove = (path, options) => call("DELETE", path, options);

/** A path with a query; nothing and "" are left out. */
export function url(path, query) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, value === true ? "1" : String(value)])).toString();
  return text ? `${path}?${text}` : path;
}
