import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { obsidian: "obsidian-test-mocks/obsidian" } },
  test: {
    environment: "jsdom",
    setupFiles: ["obsidian-test-mocks/vitest-setup"],
    include: ["test/**/*.test.ts"],
    server: { deps: { inline: ["obsidian-test-mocks"] } },
  },
});
