/** Each shared fixture is a test; twin: python/tests/test_fixtures.py. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadCases, runCase } from "./fixtures.ts";

const ran: string[] = [];

afterAll(() => {
  const file = process.env.TANDEM_FIXTURE_REPORT;
  if (!file) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ language: "typescript", ran, skipped: {} }));
});

test.each(loadCases())("$id", async (fixture) => {
  ran.push(fixture.id);
  await expect(runCase(fixture)).resolves.toBeUndefined();
});
