//! One whole prompt as a file that a reviewer can read: `golden/full-prompt.md` and its manifest.
//!
//! Written again with `UPDATE_GOLDEN=1 cargo test -p foreword-prompt --test golden`.

mod support;

use std::path::Path;

use prompt::compile_prompt;

#[test]
fn the_whole_prompt_is_as_on_file() -> anyhow::Result<()> {
    let compiled = compile_prompt(&support::full_input());
    let manifest = serde_json::to_string_pretty(&compiled.manifest)? + "\n";
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, text) in
        [("full-prompt.md", compiled.full_text.clone() + "\n"), ("full-prompt.manifest.json", manifest)]
    {
        let path = directory.join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text)?;
        }
        let on_file = std::fs::read_to_string(&path)?;
        assert!(
            on_file == text,
            "{name} differs; look at it after UPDATE_GOLDEN=1 cargo test -p foreword-prompt"
        );
    }
    let parts = [&compiled.stable_text, &compiled.session_text, &compiled.turn_text];
    assert_eq!(compiled.full_text, parts.map(String::as_str).join("\n\n"));
    Ok(())
}
