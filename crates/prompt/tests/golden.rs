//! One whole prompt as a file for reviewers: `golden/full-prompt.md` and its manifest.
//!
//! Update with `UPDATE_GOLDEN=1 cargo test -p foreword-prompt --test golden`.

mod support;

use std::path::Path;

use prompt::{ContentHash, PromptFingerprints, PromptManifest, RebuildError, compile_prompt, rebuild};

#[test]
fn full_prompt_matches_the_golden_file() -> anyhow::Result<()> {
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

// Version 1 of the compiler hashed the texts of the parts. Its recorded prompts must remain verifiable.
#[test]
fn version_1_prompt_is_rebuilt() -> anyhow::Result<()> {
    let compiled = compile_prompt(&support::full_input());
    let text_of = |sha256: &ContentHash| {
        let found = compiled.sections.iter().find(|section| section.sha256 == *sha256);
        found.map(|section| section.text.to_string())
    };
    let fingerprints = PromptFingerprints {
        stable: ContentHash::of(&compiled.stable_text),
        session: ContentHash::of(&compiled.session_text),
        turn: ContentHash::of(&compiled.turn_text),
        dynamic: ContentHash::of(format!("{}\n\n{}", compiled.session_text, compiled.turn_text)),
        full: ContentHash::of(&compiled.full_text),
    };
    let first =
        PromptManifest { compiler_version: "1.2".to_owned(), fingerprints, ..compiled.manifest.clone() };
    assert_eq!(rebuild(&first, text_of)?.full_text, compiled.full_text);
    let now = PromptManifest { compiler_version: "2.2".to_owned(), ..first };
    assert_eq!(rebuild(&now, text_of), Err(RebuildError::Fingerprint { part: "stable" }));
    Ok(())
}
