//! Checks the limit on random chains: it is never exceeded, never cuts a character, and keeps the nearest files.

mod support;

use std::path::PathBuf;

use instructions::{FileScope, FileSettings, Outcome, Request, resolve};
use proptest::prelude::*;
use support::Tree;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn kept_bytes_never_exceed_the_limit(
        texts in prop::collection::vec("([a-z#é😀 ]{0,12}\n){0,12}[a-z]{0,5}", 1..5),
        limit in 1_u64..200,
    ) {
        // Characters of one to four bytes and limits below 200 make a cut inside a character likely, which a fixed
        // example would hardly hit.
        let tree = Tree::new();
        let root = tree.directory("root");
        tree.fill(&root, &serde_json::json!({ ".git": { "dir": true } }));
        let mut directory: PathBuf = root.clone();
        for text in &texts {
            std::fs::write(directory.join("AGENTS.md"), text)?;
            directory.push("d");
            std::fs::create_dir(&directory)?;
        }
        let settings = FileSettings::default().with(|agents| agents.initial.max_bytes = Some(limit));
        let request = Request { cwd: &directory, settings: &settings };
        let found = resolve(&request, None)?;
        let project: Vec<_> = found.files.iter().filter(|file| file.scope == FileScope::Project).collect();
        let kept: u64 = project.iter().map(|file| file.kept_bytes).sum();
        prop_assert!(kept <= limit, "{kept} of {limit}");
        prop_assert!(!found.text.as_deref().unwrap_or_default().contains('\u{fffd}'), "a character was split");
        // From the working directory up there are whole files, then at most one cut file, then dropped ones.
        let mut short = false;
        for file in project.iter().rev() {
            prop_assert!(!short || file.kept_bytes == 0, "a file behind a cut one has text");
            short |= file.truncated;
        }
        for decision in &found.decisions {
            let known = matches!(decision.outcome, Outcome::Used | Outcome::Truncated | Outcome::OverBudget | Outcome::Blank);
            prop_assert!(known, "{decision:?}");
        }
    }
}
