/**
 * Model files: where they are looked for, and what is said of one that can't be read.
 *
 * The tree itself is in the fixtures; twin: python/tests/test_models.py.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { findModelFile, InvalidModelFileError, loadModels, makeEntry } from "../src/index.ts";

const TOML = `
[office]
host = "http://10.0.0.5:11434"

[office.coder]
model = "qwen3-coder:30b"
options = { temperature = 0.2, stop = ["END"] }
`;

const JSON_TEXT = `{"office": {"host": "http://10.0.0.5:11434", "coder":
{"model": "qwen3-coder:30b", "options": {"temperature": 0.2, "stop": ["END"]}}}}`;

vi.mock("node:os", async (original) => {
  const os = await original<typeof import("node:os")>();
  return { ...os, homedir: vi.fn(os.homedir) };
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tandem-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, content: string | Uint8Array): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

function refusal(file: string): InvalidModelFileError {
  try {
    loadModels(file, { env: {} });
  } catch (error) {
    if (error instanceof InvalidModelFileError) return error;
  }
  throw new Error("the file was accepted");
}

test.each([
  ["m.toml", TOML],
  ["m.json", JSON_TEXT],
  ["m.toml", `\ufeff${TOML}`],
  ["m.json", `\ufeff${JSON_TEXT}`],
])("TOML and JSON say the same (%s)", (name, content) => {
  const entry = loadModels(write(name, content), { env: {} }).find("office/coder");
  const settings = {
    model: "qwen3-coder:30b",
    host: "http://10.0.0.5:11434",
    options: { temperature: 0.2, stop: ["END"] },
  };
  expect(entry).toEqual(makeEntry("office/coder", settings));
});

test("a file is found by name, then environment, then folder", () => {
  const named = write("named.toml", "");
  const env: Record<string, string> = { XDG_CONFIG_HOME: join(folder, "config") };
  const platform = "linux";
  expect(findModelFile(null, { env, platform })).toBe(null);
  const asJson = write("config/tandem-memory/models.json", "{}");
  expect(findModelFile(null, { env, platform })).toBe(asJson);
  const asToml = write("config/tandem-memory/models.toml", "");
  expect(findModelFile(null, { env, platform })).toBe(asToml);
  env.TANDEM_MEMORY_MODELS = "elsewhere.toml";
  expect(findModelFile(null, { env, platform })).toBe("elsewhere.toml");
  expect(findModelFile(named, { env, platform })).toBe(named);
});

test.each([
  ["linux", ".config"],
  ["darwin", "Library/Application Support"],
  ["win32", "AppData/Roaming"],
])("%s has its folder", (platform, place) => {
  vi.mocked(homedir).mockReturnValueOnce(folder);
  const file = write(join(place, "tandem-memory", "models.toml"), "");
  expect(findModelFile(null, { env: {}, platform })).toBe(file);
});

test("Windows names its folder in the environment", () => {
  const file = write("roaming/tandem-memory/models.toml", "");
  const env = { APPDATA: join(folder, "roaming") };
  expect(findModelFile(null, { env, platform: "win32" })).toBe(file);
});

test("without a file the built-in models are there", () => {
  const { paths } = loadModels(null, { env: { XDG_CONFIG_HOME: folder }, platform: "linux" });
  expect(paths).toEqual(["local/chat/large", "local/chat/small", "local/embed"]);
});

test.each([
  ["a.toml", "[local\nx = 1", "is no TOML"],
  ["b.toml", "x = 1\nx = 2", "is no TOML"],
  ["a.json", '{"local": ', "is no JSON"],
  ["b.json", "[".repeat(100_000), "is no JSON"],
  ["c.toml", Buffer.from('[a]\nmodel = "\xff"', "latin1"), "can't be read"],
])("an unreadable file is one clear line (%s)", (name, content, hint) => {
  const file = write(name, content);
  const error = refusal(file);
  expect(error.data).toEqual({ file, path: "" });
  expect(error.message).toContain(`invalid model file: ${file} ${hint}`);
  expect(error.message).not.toContain("\n");
});

test("a missing file and a folder are errors", () => {
  for (const file of [join(folder, "missing.toml"), folder]) {
    expect(refusal(file).message).toContain("can't be read");
  }
});

test.each(["num_ctx", "keep_alive"])("what JSON has not is a wrong value of %s", (name) => {
  for (const value of ["1979-05-27", "inf", "nan"]) {
    const file = write("a.toml", `[mine]\n${name} = ${value}`);
    expect(refusal(file).data).toEqual({ file, path: `mine/${name}` });
  }
});

test("a wrong value is named with its place and what is allowed", () => {
  const file = write("a.toml", '[mine.a]\nmodel = "a:1"\nnum_ctx = "big"');
  expect(refusal(file).message).toBe(
    `invalid model file: ${file}: mine/a/num_ctx is "big"; it must be a whole number from 1 up`,
  );
});
