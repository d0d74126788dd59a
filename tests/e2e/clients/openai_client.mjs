import OpenAI from "openai";
const c = new OpenAI({ baseURL: process.argv[2], apiKey: process.argv[3], maxRetries: 0 });
const messages = [{ role: "user", content: "hello from node" }];
const one = await c.chat.completions.create({ model: "m", messages });
const stream = await c.chat.completions.create({ model: "m", messages, stream: true, stream_options: { include_usage: true } });
let text = "", usage = null;
for await (const chunk of stream) { text += chunk.choices[0]?.delta?.content ?? ""; usage = chunk.usage ?? usage; }
let status = 0, retry = "";
try { await c.chat.completions.create({ model: "nobody", messages }); } catch (e) { status = e.status; retry = e.code; }
const models = []; for await (const m of c.models.list()) models.push(m.id);
const head = await c.chat.completions.create({ model: "m", messages }).withResponse();
console.log(JSON.stringify({ one: one.choices[0].message.content, text, usage, status, retry, models, talk: head.response.headers.get("x-vaultd-conversation") }));
