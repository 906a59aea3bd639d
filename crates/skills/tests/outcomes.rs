//! Outcomes of skills.

mod support;

use skills::{Implicit, Situation};
use support::{Tree, lines};

#[test]
fn nearest_skill_of_all_directories_wins() {
    let mut tree = Tree::new();
    tree.skill("home/skills/one", "one", "");
    tree.skill("home/skills/group/two", "two", "");
    tree.skill("shared/one", "one", "");
    tree.skill("shared/three", "three", "");
    tree.folders = vec![tree.path("shared")];
    tree.skill("project/.agents/skills/one", "one", "");
    tree.skill("project/src/.agents/skills/one", "one", "");
    tree.skill("project/.foreword/skills/four", "four", "");
    tree.trust("project");
    let here = tree.resolve_in("project/src", None);
    assert_eq!(here.usable("one").unwrap().folder, tree.path("project/src/.agents/skills/one"));
    assert_eq!(
        lines(&here.activate(&Situation::default()).summaries()),
        [
            "one active implicit",
            "four active implicit",
            "one shadowed nearer_skill",
            "two active implicit",
            "one shadowed nearer_skill",
            "one shadowed nearer_skill",
            "three active implicit",
        ]
    );
    // In another directory, another skill is nearer.
    let there = tree.resolve();
    assert_eq!(there.usable("one").unwrap().folder, tree.path("project/.agents/skills/one"));
}

#[test]
fn intermediate_directories_have_skills() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/near", "near", "");
    tree.skill("project/a/.agents/skills/near", "near", "");
    tree.skill("project/a/.agents/skills/other", "other", "paths: b/**\n");
    tree.skill("project/c/.agents/skills/elsewhere", "elsewhere", "");
    tree.write("project/a/b/file", "");
    tree.trust("project");
    let here = tree.resolve_in("project/a/b", None);
    let cwd = tree.path("project/a/b");
    assert_eq!(
        lines(&here.activate(&Situation { cwd: Some(&cwd), ..Default::default() }).summaries()),
        ["near active implicit", "other active path_matched", "near shadowed nearer_skill"]
    );
    assert_eq!(here.usable("near").unwrap().folder, tree.path("project/a/.agents/skills/near"));
}

#[test]
fn inactive_skills_are_named_up_to_a_limit() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.skill(&format!("project/.agents/skills/{name}"), name, "");
    }
    tree.skill("home/skills/own", "own", "");
    let activation = tree.activate(&Situation::default());
    let (named, more) = activation.inactive(2);
    assert_eq!(
        (lines(&named), more),
        (vec!["a untrusted never_trusted".to_owned(), "b untrusted never_trusted".to_owned()], 1)
    );
    assert_eq!(activation.inactive(10).1, 0);
}

#[test]
fn unusable_skill_hides_nothing() {
    let tree = Tree::new();
    tree.skill("home/skills/one", "one", "");
    tree.skill("project/.agents/skills/one", "one", "");
    assert_eq!(tree.outcomes(), ["one untrusted never_trusted", "one active implicit"]);
    let why = tree.resolve().why_not("one").unwrap();
    assert!(why.detail.unwrap().contains("foreword trust"));
}

#[test]
fn paths_names_and_settings_select() {
    let tree = Tree::new();
    tree.skill("home/skills/plain", "plain", "");
    tree.skill("home/skills/rust", "rust", "paths: ['*.rs']\n");
    tree.skill("home/skills/source", "source", "paths: src/**\n");
    tree.skill("home/skills/asked", "asked", "disable-model-invocation: true\n");
    let outcomes = |situation: &Situation<'_>| lines(&tree.activate(situation).summaries());
    let root = tree.path("project");
    let src = tree.path("project/src");
    assert_eq!(
        outcomes(&Situation { cwd: Some(&root), ..Default::default() }),
        [
            "asked disabled not_implicit",
            "plain active implicit",
            "rust disabled no_path_matched",
            "source disabled no_path_matched",
        ]
    );
    let touched = [tree.path("project/lib.rs")];
    let selected = ["asked".to_owned()];
    let situation =
        Situation { cwd: Some(&src), touched: &touched, selected: &selected, implicit: Implicit::LeftOut };
    assert_eq!(
        outcomes(&situation),
        [
            "asked active selected",
            "plain disabled not_implicit",
            "rust active path_matched",
            "source active path_matched",
        ]
    );
    // Globs of a project's skill are relative to the directory that contains its folder of skills.
    tree.skill("project/src/.agents/skills/near", "near", "paths: a.txt\n");
    tree.trust("project");
    let touched = [tree.path("project/src/a.txt"), tree.path("project/a.txt")];
    for (file, expected) in touched.iter().zip(["active path_matched", "disabled no_path_matched"]) {
        let situation = Situation { touched: std::slice::from_ref(file), ..Default::default() };
        let found = tree.resolve_in("project/src", None).activate(&situation);
        assert!(lines(&found.summaries()).contains(&format!("near {expected}")), "{file:?}");
    }
}

#[test]
fn required_skills_must_be_usable() {
    let tree = Tree::new();
    tree.skill("home/skills/a", "a", "requires: [b, d]\n");
    tree.skill("home/skills/b", "b", "requires: c\n");
    tree.skill("home/skills/d", "d", "requires: e\n");
    tree.skill("home/skills/e", "e", "requires: d\n");
    assert_eq!(
        tree.outcomes(),
        [
            "a missing_dependency required_skill",
            "b missing_dependency required_skill",
            "d active implicit",
            "e active implicit",
        ]
    );
    let why = tree.resolve().why_not("a").unwrap();
    assert_eq!(why.detail.as_deref(), Some("it requires b"));
}

#[test]
fn section_lists_skills_and_includes_matching_text() {
    let tree = Tree::new();
    tree.skill("home/skills/plain", "plain", "");
    tree.skill("home/skills/rust", "rust", "paths: '*.rs'\n");
    let touched = [tree.path("project/lib.rs")];
    let situation = Situation { touched: &touched, ..Default::default() };
    let text = tree.activate(&situation).runtime_text().unwrap();
    assert_eq!(
        text.text,
        "Skills are instructions for particular tasks. If your task matches a description, call read_skill with the exact slug and follow its text before you start, unless the text is below.\n\
         - rust: Does rust (read_skill \"rust\")\n\
         - plain: Does plain (read_skill \"plain\")\n\n\
         The skill \"rust\" applies here and says:\n> Do rust."
    );
    assert_eq!(text.with_body, ["rust"]);
    // A skill that the turn names is left for the model to read.
    let selected = ["rust".to_owned()];
    let text = tree.activate(&Situation { selected: &selected, ..situation }).runtime_text().unwrap();
    assert!(!text.text.contains("Do rust"), "{}", text.text);
    // The same applies if many others are active.
    tree.skill("home/skills/x", "x", "");
    tree.skill("home/skills/y", "y", "");
    let text = tree.activate(&situation).runtime_text().unwrap();
    assert!(text.with_body.is_empty() && !text.text.contains("Do rust"), "{}", text.text);
    assert_eq!(Tree::new().activate(&situation).runtime_text(), None);
}

#[test]
fn text_that_does_not_fit_becomes_a_hint() {
    let tree = Tree::new();
    let long = "Long. ".repeat(2_000);
    tree.write("home/skills/a/SKILL.md", format!("---\nname: a\ndescription: b\npaths: '**'\n---\n{long}"));
    let cwd = tree.path("project");
    let text = tree.activate(&Situation { cwd: Some(&cwd), ..Default::default() }).runtime_text().unwrap();
    assert!(text.text.ends_with("The skill \"a\" applies here: read it first."), "{}", text.text);
    assert!(text.text.chars().count() <= 8_000 && text.with_body.is_empty());
}

#[test]
fn truncated_list_counts_the_missing_skills() {
    let tree = Tree::in_memory();
    for index in 0..300 {
        tree.skill(&format!("home/skills/s{index:03}"), &format!("s{index:03}"), "");
    }
    let selected = ["s299".to_owned()];
    let text =
        tree.activate(&Situation { selected: &selected, ..Default::default() }).runtime_text().unwrap();
    let lines = text.text.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(lines + text.unlisted, 300);
    assert!(text.text.chars().count() <= 8_000 && text.unlisted > 0);
    assert!(text.text.lines().nth(1).unwrap().starts_with("- s299: "));
    assert!(
        text.text.ends_with(&format!(
            "({} more are not listed, because there is no room for them.)",
            text.unlisted
        ))
    );
}
