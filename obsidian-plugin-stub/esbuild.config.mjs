// Bundles the plugin into dist/ (or the folder given): main.js, manifest.json, styles.css. Same sources, same bytes.
import { copyFile, mkdir } from "node:fs/promises";
import path from "node:path";
import esbuild from "esbuild";

const out = path.resolve(process.argv[2] ?? "dist");
await mkdir(out, { recursive: true });
await esbuild.build({
  entryPoints: ["src/main.ts"],
  outfile: path.join(out, "main.js"),
  bundle: true,
  format: "cjs",
  target: "es2022",
  external: ["obsidian"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
for (const name of ["manifest.json", "styles.css"]) {
  await copyFile(name, path.join(out, name));
}
