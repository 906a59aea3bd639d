//! Properties that hold for every input.

mod support;

use std::collections::{HashMap, HashSet};

use prompt::{
    AgentsContext, CompiledPrompt, Compiler, ContentHash, ContributedSection, PromptBudgets,
    PromptCompileInput, PromptProfile, PromptRole, RebuildError, Stability, compile_prompt, rebuild,
};
use proptest::prelude::*;
use support::{bootstrap, contributed};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z \\n]{0,400}",
        2 => "(\\PC|\\n|</AGENTS_MD>|<agents_context>|\u{e0041}|\u{202e}){0,60}",
        // Longer than the default budget of a section, so that cutting is part of many cases and not only of those with
        // small budgets.
        1 => Just("long line of text that fills the section\n".repeat(300)),
    ]
}

fn section() -> impl Strategy<Value = ContributedSection> {
    let id = prop_oneof![
        Just("agents_md".to_owned()),
        Just("memory_recall".to_owned()),
        Just("skills_runtime".to_owned()),
        Just("safety".to_owned()),
        "[a-e]",
    ];
    (id, text(), -5..5_i32, proptest::option::of(0_usize..9_000)).prop_map(
        |(id, content, priority, max_chars)| {
            let mut contributed = contributed(&id, &content);
            contributed.section.priority = priority;
            contributed.section.max_chars = max_chars;
            contributed
        },
    )
}

fn budgets() -> impl Strategy<Value = PromptBudgets> {
    // Zero and very small budgets are frequent on purpose: the mark of a cut text has a length of its own and is where
    // such limits are exceeded.
    let size = || prop_oneof![Just(0), 0..200_usize, 0..30_000_usize];
    (size(), size(), size(), size(), size()).prop_map(|(file, total, document, section, sections)| {
        PromptBudgets {
            bootstrap_file: file,
            bootstrap_total: total,
            agents_md: document,
            section,
            sections_total: sections,
        }
    })
}

prop_compose! {
    fn input()(
        files in [text(), text(), text()],
        context in proptest::option::of(text()),
        role in prop_oneof![Just(PromptRole::System), Just(PromptRole::User)],
        extra in proptest::option::of(text()),
        contributed in proptest::collection::vec(section(), 0..8),
        limits in budgets(),
        profile in prop_oneof![8 => Just(PromptProfile::Full), 1 => Just(PromptProfile::Minimal), 1 => Just(PromptProfile::None)],
    ) -> PromptCompileInput {
        PromptCompileInput {
            profile,
            bootstrap: bootstrap(&files.each_ref().map(String::as_str)),
            agents_context: context.map(|text| AgentsContext { text, sources: Vec::new(), truncated: false, role }),
            extra_system: extra,
            contributed,
            limits,
            ..PromptCompileInput::default()
        }
    }
}

fn texts(compiled: &CompiledPrompt) -> HashMap<ContentHash, String> {
    compiled.sections.iter().map(|section| (section.sha256.clone(), section.text.to_string())).collect()
}

/// Returns the number of characters in a section without the text that the compiler adds.
fn body_chars(compiled: &CompiledPrompt, id: &str) -> usize {
    let Some(section) = compiled.sections.iter().find(|section| section.id == id) else { return 0 };
    let body = section.text.split_once('\n').map_or("", |(_, body)| body);
    let body = body.split_once("<AGENTS_MD>\n").map_or(body, |(_, body)| body);
    let body = body.strip_suffix("\n</AGENTS_MD>").unwrap_or(body);
    let body = body.split_once("\n\n(This text is yours to evolve").map_or(body, |(body, _)| body);
    body.chars().count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_budget_is_exceeded(input in input()) {
        let compiled = compile_prompt(&input);
        let limits = &input.limits;
        let files = ["soul_core", "identity_core", "user_persona"].map(|id| body_chars(&compiled, id));
        prop_assert!(files.iter().all(|chars| *chars <= limits.bootstrap_file));
        prop_assert!(files.iter().sum::<usize>() <= limits.bootstrap_total);
        let ours = ["identity", "safety", "soul_core", "identity_core", "user_persona", "agents_context"];
        let mut total = 0;
        for section in compiled.manifest.sections.iter().filter(|section| !ours.contains(&section.id.as_str())) {
            let chars = body_chars(&compiled, &section.id);
            let limit = if section.id == "agents_md" { limits.agents_md } else { limits.section };
            prop_assert!(chars <= limit, "{}: {} > {}", section.id, chars, limit);
            total += chars;
        }
        prop_assert!(total <= limits.sections_total, "{} > {}", total, limits.sections_total);
    }

    #[test]
    fn equal_inputs_compile_to_equal_bytes(input in input()) {
        let compiled = compile_prompt(&input);
        let mut compiler = Compiler::default();
        prop_assert_eq!(&compiler.compile(&input), &compiled);
        prop_assert_eq!(&compiler.compile(&input), &compiled, "also with a warm cache");
        let hashes: Vec<&str> = compiled.manifest.sections.iter().map(|section| section.sha256.as_str()).collect();
        let lines = hashes.iter().map(|hash| format!("{hash}\n")).collect::<String>();
        prop_assert_eq!(&ContentHash::of(&lines), &compiled.manifest.fingerprints.full);
        for section in &compiled.manifest.sections {
            let text = &texts(&compiled)[&section.sha256];
            prop_assert_eq!(section.chars, text.chars().count() as u64);
            prop_assert_eq!(section.tokens, tokens::count(tokens::Encoding::Cl100k, text) as u64);
        }
    }

    #[test]
    fn turn_sections_do_not_change_earlier_parts(input in input(), other in text(), memory in text()) {
        let one = compile_prompt(&input);
        let mut changed = input;
        changed.extra_system = Some(other);
        let two = compile_prompt(&changed);
        prop_assert_eq!(&one.stable_text, &two.stable_text);
        prop_assert_eq!(&one.session_text, &two.session_text);
        changed.contributed.retain(|it| it.section.section_id != "memory_recall");
        changed.contributed.push(contributed("memory_recall", &memory));
        let three = compile_prompt(&changed);
        prop_assert_eq!(&three.session_text, &two.session_text);
        prop_assert_eq!(&three.manifest.fingerprints.stable, &two.manifest.fingerprints.stable);
    }

    #[test]
    fn manifest_has_no_content(input in input()) {
        let compiled = compile_prompt(&input);
        let manifest: Vec<char> = serde_json::to_string(&compiled.manifest).unwrap().chars().collect();
        // Windows of 20 characters: shorter ones also occur by chance, for example in ids.
        let quoted: HashSet<&[char]> = manifest.windows(20).collect();
        let contents = input.contributed.iter().map(|it| &it.section.content)
            .chain(input.bootstrap.files.iter().map(|file| &file.text))
            .chain(input.extra_system.iter())
            .chain(input.agents_context.iter().map(|context| &context.text));
        for content in contents {
            let characters: Vec<char> = content.chars().collect();
            for window in characters.windows(20) {
                prop_assert!(!quoted.contains(window), "{window:?}");
            }
        }
    }

    #[test]
    fn past_prompt_is_rebuilt_byte_for_byte(input in input(), lost in any::<prop::sample::Index>()) {
        let compiled = compile_prompt(&input);
        // Through JSON, because past prompts are rebuilt from stored manifests. A field that is lost in storage would
        // show here.
        let manifest = serde_json::from_str(&serde_json::to_string(&compiled.manifest).unwrap()).unwrap();
        prop_assert_eq!(&compiled.manifest, &manifest);
        let mut kept = texts(&compiled);
        let rebuilt = rebuild(&manifest, |sha256| kept.get(sha256).cloned()).unwrap();
        prop_assert_eq!(&rebuilt.full_text, &compiled.full_text);
        prop_assert_eq!(&rebuilt.stable_text, &compiled.stable_text);
        prop_assert_eq!(&rebuilt.session_text, &compiled.session_text);
        prop_assert_eq!(&rebuilt.user_text, &compiled.user_text);
        prop_assert_eq!(&rebuilt.turn_text, &compiled.turn_text);
        if !compiled.sections.is_empty() {
            // The stored text is first changed and then removed: both must be detected, and differently.
            let section = &compiled.sections[lost.index(compiled.sections.len())];
            kept.insert(section.sha256.clone(), format!("{} ", section.text));
            let altered = rebuild(&manifest, |sha256| kept.get(sha256).cloned());
            let is_altered = matches!(altered, Err(RebuildError::Altered { .. }));
            prop_assert!(is_altered);
            kept.remove(&section.sha256);
            let missing = rebuild(&manifest, |sha256| kept.get(sha256).cloned());
            let is_missing = matches!(missing, Err(RebuildError::Missing { .. }));
            prop_assert!(is_missing);
        }
    }

    #[test]
    fn parts_hold_only_their_own_sections(input in input()) {
        let compiled = compile_prompt(&input);
        prop_assert!(compiled.manifest.sections.is_sorted_by_key(|section| section.stability));
        let joined = |stability: Stability, role: PromptRole| {
            let sections = compiled.manifest.sections.iter();
            let sections = sections.filter(|section| section.stability == stability && section.role == role);
            sections.map(|section| texts(&compiled)[&section.sha256].clone()).collect::<Vec<_>>().join("\n\n")
        };
        prop_assert_eq!(joined(Stability::Stable, PromptRole::System), compiled.stable_text.clone());
        prop_assert_eq!(joined(Stability::Session, PromptRole::System), compiled.session_text.clone());
        prop_assert_eq!(joined(Stability::Session, PromptRole::User), compiled.user_text.clone());
        prop_assert_eq!(joined(Stability::Turn, PromptRole::System), compiled.turn_text.clone());
    }
}
