/** The text editor: CodeMirror in a shadow root. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Transaction } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { highlighting, markdown } from "./language";
import { theme } from "./theme";

export interface Finding {
  line: number;
  severity: "error" | "warning" | "info";
  message: string;
}

export interface EditorEvents {
  changed(text: string): void;
  left(): void;
  save(): void;
}

export class Editor {
  readonly #view: EditorView;
  readonly #editable = new Compartment();

  constructor(host: HTMLElement, events: EditorEvents) {
    // CodeMirror adds its styles as constructed style sheets in a shadow root. In the document it would use a `style`
    // element, which the Content-Security-Policy blocks.
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open", delegatesFocus: true });
    this.#view = new EditorView({
      root,
      parent: root as unknown as HTMLElement,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightSpecialChars(),
          highlightSelectionMatches(),
          search({ top: true }),
          markdown,
          highlighting,
          theme,
          EditorView.lineWrapping,
          placeholder("# Instructions\n\nWrite what agents in this part of the tree should know."),
          keymap.of([
            { key: "Mod-s", run: () => (events.save(), true) },
            ...defaultKeymap,
            ...historyKeymap,
            ...searchKeymap,
            indentWithTab,
          ]),
          EditorView.contentAttributes.of({ "aria-label": "AGENTS.md editor", spellcheck: "true" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) events.changed(update.state.doc.toString());
          }),
          EditorView.domEventHandlers({ blur: () => (events.left(), false) }),
          this.#editable.of([]),
        ],
      }),
    });
  }

  /** Shows another text and keeps the caret near its place. */
  show(text: string): void {
    const { doc } = this.#view.state;
    if (doc.toString() === text) return;
    // Only the changed middle is replaced, so that the caret, the scroll position and the marks outside stay.
    const old = doc.toString();
    let from = 0;
    const shortest = Math.min(old.length, text.length);
    while (from < shortest && old[from] === text[from]) from += 1;
    let end = 0;
    while (end < shortest - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    this.#view.dispatch({
      changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) },
      annotations: Transaction.addToHistory.of(false),
    });
  }

  setReadOnly(isReadOnly: boolean): void {
    // `editable` stays true: a text that cannot be focused cannot be read with the keyboard.
    const extension = isReadOnly
      ? [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-readonly": "true" })]
      : [];
    this.#view.dispatch({ effects: this.#editable.reconfigure(extension) });
  }

  /** Shows findings beside their lines. */
  setFindings(findings: Finding[]): void {
    const { doc } = this.#view.state;
    const diagnostics = findings.map((finding): Diagnostic => {
      const line = doc.line(Math.max(1, Math.min(finding.line, doc.lines)));
      return { from: line.from, to: line.to, severity: finding.severity, message: finding.message };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
  }

  /** Puts the caret on a line and scrolls to it. */
  goTo(number: number): void {
    const line = this.#view.state.doc.line(Math.max(1, Math.min(number, this.#view.state.doc.lines)));
    this.#view.dispatch({ selection: { anchor: line.from }, scrollIntoView: true });
    this.focus();
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}
