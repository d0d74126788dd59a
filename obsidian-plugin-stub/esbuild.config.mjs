// Bundles the plugin into dist/ (or the folder given): main.js, manifest.json, styles.css. Same sources, same bytes.
// The first line of main.js carries a digest of the sources, so that a stale build is seen without building.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "dist"));
const { version } = JSON.parse(await readFile(path.join(here, "manifest.json"), "utf8"));

async function digestOfSources() {
  const digest = createHash("sha256");
  for (const name of (await readdir(path.join(here, "src"))).sort()) {
    digest.update(`${name}\0`).update(await readFile(path.join(here, "src", name)));
  }
  return digest.digest("hex");
}

await mkdir(out, { recursive: true });
await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts"],
  outfile: path.join(out, "main.js"),
  bundle: true,
  format: "cjs",
  target: "es2022",
  external: ["obsidian"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  banner: { js: `/* vaultd for Obsidian ${version}, sources ${await digestOfSources()} */` },
});
for (const name of ["manifest.json", "styles.css"]) {
  await copyFile(path.join(here, name), path.join(out, name));
}
