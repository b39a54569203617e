import { defineConfig } from "vitest/config";

// Suites that need a server run only where a nox session names one.
const needsServer = {
  "tests/live.test.ts": ["TANDEM_LIVE_URL"],
  "tests/long.test.ts": ["TANDEM_LIVE_URL"],
  "tests/conformance.test.ts": ["TANDEM_EMBEDDED_URL", "TANDEM_OLLAMA_URL"],
  "tests/postgres.test.ts": ["TANDEM_POSTGRES_URL"],
  "tests/postgres-failures.test.ts": ["TANDEM_POSTGRES_URL"],
};

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    exclude: Object.entries(needsServer)
      .filter(([, variables]) => !variables.some((variable) => process.env[variable]))
      .map(([file]) => file),
    expect: { requireAssertions: true },
  },
});
