/**
 * Prints the public names of the package as JSON: `{ modules, indexes }`, by file without `.ts`.
 *
 * Twin: shared-fixtures/checks/surface.py, which says the form; symbols.py compares the two.
 */

import { join, relative, sep } from "node:path";
import ts from "typescript";

interface Signature {
  positional: string[];
  options: string[];
  /** Further ways to call it, all by position. */
  overloads: string[][];
}

interface Name {
  name: string;
  kind: "class" | "interface" | "function" | "value";
  exported: boolean;
  doc: boolean;
  signature: Signature | null;
  members: Member[];
}

interface Member {
  name: string;
  kind: "field" | "getter" | "method" | "constructor";
  doc: boolean;
  signature: Signature | null;
}

type Declared =
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.FunctionDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableStatement;

const SOURCES = join(import.meta.dirname, "../src");
const files = ts.sys.readDirectory(SOURCES, [".ts", ".tsx"]);
const program = ts.createProgram(files, {
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.NodeNext,
  allowImportingTsExtensions: true,
  jsx: ts.JsxEmit.Preserve,
  noEmit: true,
  strict: true,
});
const checker = program.getTypeChecker();

function moduleName(file: string): string {
  return relative(SOURCES, file)
    .split(sep)
    .join("/")
    .replace(/\.tsx?$/, "");
}

function readModule(source: ts.SourceFile): { doc: boolean; names: Name[] } {
  const names = source.statements.filter(isDeclared).flatMap(readName);
  return { doc: /^(#!.*\n)?\/\*\*/.test(source.getFullText()), names: mergeOverloads(names) };
}

function isDeclared(node: ts.Node): node is Declared {
  return (
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isVariableStatement(node)
  );
}

function readName(node: Declared): Name[] {
  const exported = (ts.getModifiers(node) ?? []).some(
    (m) => m.kind === ts.SyntaxKind.ExportKeyword,
  );
  const common = { exported, doc: hasDoc(node) };
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map(({ name, initializer }) => {
      const called = initializer && ts.isArrowFunction(initializer) ? initializer : null;
      return {
        ...common,
        name: name.getText(),
        kind: called ? "function" : "value",
        signature: called && readSignature(called),
        members: [],
      };
    });
  }
  const name = node.name?.text ?? "default";
  if (ts.isFunctionDeclaration(node)) {
    const signature = readSignature(node);
    return [{ ...common, name, kind: "function", signature, members: [] }];
  }
  if (ts.isTypeAliasDeclaration(node)) {
    return [{ ...common, name, kind: "value", signature: null, members: [] }];
  }
  const kind = ts.isClassDeclaration(node) ? "class" : "interface";
  const members = mergeOverloads([...node.members].flatMap(readMember));
  return [{ ...common, name, kind, signature: null, members }];
}

function readMember(node: ts.ClassElement | ts.TypeElement): Member[] {
  if (ts.isConstructorDeclaration(node)) {
    const signature = readSignature(node);
    return [{ name: "constructor", kind: "constructor", doc: false, signature }];
  }
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  if ((ts.getCombinedModifierFlags(node) & hidden) !== 0) return [];
  if (!node.name || !ts.isIdentifier(node.name)) return []; // `#private`, or computed
  const common = { name: node.name.text, doc: hasDoc(node) };
  if (ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) {
    return [{ ...common, kind: "method", signature: readSignature(node) }];
  }
  if (ts.isGetAccessor(node)) return [{ ...common, kind: "getter", signature: null }];
  if (ts.isSetAccessor(node)) return []; // its getter stands for both
  return [{ ...common, kind: "field", signature: null }];
}

function readSignature(node: ts.SignatureDeclaration): Signature {
  const positional = [...node.parameters];
  const last = positional.at(-1);
  const options = last && isOptions(last) ? positional.splice(-1, 1) : [];
  return {
    positional: positional.map((each) => marked(each.name.getText(), isOptional(each))),
    options: options.flatMap((each) =>
      checker
        .getPropertiesOfType(checker.getNonNullableType(checker.getTypeAtLocation(each)))
        .map((field) => marked(field.name, (field.flags & ts.SymbolFlags.Optional) !== 0)),
    ),
    overloads: [],
  };
}

function isOptions({ name }: ts.ParameterDeclaration): boolean {
  return ts.isObjectBindingPattern(name) || name.getText() === "options";
}

function isOptional(node: ts.ParameterDeclaration): boolean {
  return node.questionToken !== undefined || node.initializer !== undefined;
}

function marked(name: string, optional: boolean): string {
  return optional ? `${name}?` : name;
}

/** Of several declarations of one name the last is the body, which callers don't see. */
function mergeOverloads<Each extends Name | Member>(declared: Each[]): Each[] {
  return Object.values(Object.groupBy(declared, ({ name }) => name)).flatMap((group = []) => {
    const [first, ...further] = group;
    if (!first?.signature || further.length === 0) return group;
    const overloads = further.slice(0, -1).map((each) => each.signature?.positional ?? []);
    return [{ ...first, signature: { ...first.signature, overloads } }];
  });
}

function hasDoc(node: ts.Node): boolean {
  return ts.getJSDocCommentsAndTags(node).some(ts.isJSDoc);
}

function readIndex(source: ts.SourceFile): string[] {
  const symbol = checker.getSymbolAtLocation(source);
  return symbol ? checker.getExportsOfModule(symbol).map(({ name }) => name) : [];
}

const sources = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName));
const isIndex = (source: ts.SourceFile) => /(^|\/)index$/.test(moduleName(source.fileName));
const entries = (chosen: ts.SourceFile[], read: (source: ts.SourceFile) => unknown) =>
  Object.fromEntries(chosen.map((source) => [moduleName(source.fileName), read(source)]));
const modules = entries(
  sources.filter((source) => !isIndex(source)),
  readModule,
);
process.stdout.write(
  JSON.stringify({ modules, indexes: entries(sources.filter(isIndex), readIndex) }),
);
