//! Trust covers content: anything that was not shown is not used.

mod support;

use std::fs;
use std::sync::Arc;

use skills::{Catalogue, ReadError, Situation, SkillCache, TrustChangeKind, candidates};
use support::{Tree, lines};

#[test]
fn only_trusted_content_is_used() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.write("project/.agents/skills/a/more.md", "one\n");
    assert_eq!(tree.outcomes(), ["a untrusted never_trusted"]);
    tree.trust("project");
    assert_eq!(tree.outcomes(), ["a active implicit"]);

    // Trust covers the skills that existed, not new ones below the same path.
    tree.skill("project/.agents/skills/b", "b", "");
    assert_eq!(tree.outcomes(), ["a active implicit", "b untrusted never_trusted"]);

    let changes: [(&str, &dyn Fn()); 4] = [
        ("more.md has changed", &|| tree.write("project/.agents/skills/a/more.md", "two\n")),
        ("more.md is gone", &|| fs::remove_file(tree.path("project/.agents/skills/a/more.md")).unwrap()),
        ("SKILL.md has changed", &|| tree.skill("project/.agents/skills/a", "a", "license: MIT\n")),
        ("x/new.md is new", &|| tree.write("project/.agents/skills/a/x/new.md", "")),
    ];
    for (expected, change) in changes {
        change();
        let catalogue = tree.resolve();
        assert!(catalogue.usable("a").is_none(), "{expected}");
        let why = catalogue.why_not("a").unwrap();
        assert_eq!(lines(std::slice::from_ref(&why)), ["a changed_since_trusted files_differ"]);
        let detail = why.detail.unwrap();
        assert!(detail.starts_with(expected) && detail.contains("foreword trust --diff"), "{detail}");
        tree.trust("project/.agents/skills/a");
        assert!(tree.resolve().usable("a").is_some(), "{expected}");
    }
}

#[test]
fn used_bytes_are_the_trusted_bytes() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.write("project/.agents/skills/a/more.md", "one\n");
    tree.trust("project");
    let catalogue = tree.resolve();
    let skill = catalogue.usable("a").unwrap();
    assert_eq!(skill.read("more.md").unwrap(), "one\n");
    // Changed between listing and reading.
    tree.write("project/.agents/skills/a/more.md", "two\n");
    tree.write("project/.agents/skills/a/new.md", "new\n");
    tree.skill("project/.agents/skills/a", "a", "x: y\n");
    for result in [skill.read("more.md"), skill.read("SKILL.md"), skill.body()] {
        assert!(matches!(result, Err(ReadError::Changed { since: "trusted", .. })), "{result:?}");
    }
    assert!(matches!(skill.read("new.md"), Err(ReadError::Absent { .. })));
}

#[test]
fn change_is_shown_as_a_diff_from_the_trusted_text() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.write("project/.agents/skills/a/data", b"\0\x01");
    tree.trust("project");
    tree.write("project/.agents/skills/a/SKILL.md", "---\nname: a\ndescription: Does more\n---\nDo a.\n");
    tree.write("project/.agents/skills/a/data", b"\0\x02");
    tree.write("project/.agents/skills/a/new", "new\n");
    let file = tree.trust_file();
    let (found, _) = candidates(&tree.path("project"), &file.read().unwrap()).unwrap();
    let changes = found[0].changes.as_ref().unwrap();
    let differences: Vec<TrustChangeKind> = changes.iter().map(|change| change.difference).collect();
    assert_eq!(differences, [TrustChangeKind::Changed, TrustChangeKind::Changed, TrustChangeKind::Added]);
    assert_eq!(
        found[0].diff(&changes[0], &file),
        "--- trusted/SKILL.md\n+++ now/SKILL.md\n@@ -1,5 +1,5 @@\n ---\n name: a\n-description: Does a\n+description: Does more\n ---\n Do a.\n"
    );
    assert!(found[0].diff(&changes[1], &file).starts_with("data has changed: no text to compare, "));
    assert_eq!(found[0].diff(&changes[2], &file), "--- /dev/null\n+++ now/new\n@@ -0,0 +1 @@\n+new\n");
}

#[test]
fn trust_is_revoked_below_a_path() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.skill("project/src/.agents/skills/b", "b", "");
    tree.trust("project");
    let file = tree.trust_file();
    assert_eq!(file.read().unwrap().skills().count(), 2);
    fs::remove_dir_all(tree.path("project/src/.agents")).unwrap();
    let taken = file.untrust(&tree.path("project/src")).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].slug, "b");
    assert!(file.untrust(&tree.path("project/src")).unwrap().is_empty());
    assert_eq!(tree.outcomes(), ["a active implicit"]);
    file.untrust(&tree.path("project")).unwrap();
    assert_eq!(tree.outcomes(), ["a untrusted never_trusted"]);
    // The copies for comparison are removed, too.
    assert_eq!(fs::read_dir(tree.path("home/trusted-skills")).unwrap().count(), 0);
}

#[test]
fn unreadable_trust_file_trusts_nothing() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.skill("home/skills/b", "b", "");
    tree.trust("project");
    for text in ["{", "{\"schema\":2,\"skills\":[]}", "[]", ""] {
        tree.write("home/trusted-skills.json", text);
        assert_eq!(tree.outcomes(), ["a untrusted trust_unreadable", "b active implicit"], "{text}");
        assert!(
            tree.resolve().trust_problem().is_some_and(|problem| problem.contains("trusted-skills.json"))
        );
        assert!(tree.trust_file().untrust(&tree.path("project")).is_err());
        assert_eq!(fs::read_to_string(tree.path("home/trusted-skills.json")).unwrap(), text);
    }
    fs::remove_file(tree.path("home/trusted-skills.json")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("home/trusted-skills.json"), 0o600.into()).unwrap();
    assert_eq!(tree.outcomes(), ["a untrusted trust_unreadable", "b active implicit"]);
}

#[test]
fn other_objects_in_a_skill_are_named_and_left_out() {
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.write("secret", "key");
    tree.link(tree.path("secret"), "project/.agents/skills/a/out");
    tree.link(".", "project/.agents/skills/a/self");
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("project/.agents/skills/a/pipe"), 0o600.into()).unwrap();
    tree.write("project/.agents/skills/b/SKILL.md", "broken");
    let (found, cut) = candidates(&tree.path("project"), &tree.trust_file().read().unwrap()).unwrap();
    assert!(!cut);
    let left_out: Vec<String> =
        found[0].left_out.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
    assert_eq!(
        left_out,
        ["out: a link that leads out of the skill's folder", "pipe: a pipe", "self: a link to a directory"]
    );
    assert_eq!(found[0].files().count(), 1);
    assert!(found[1].problem.is_some());
    tree.trust("project");
    assert_eq!(tree.outcomes(), ["a active implicit", "b invalid no_front_matter"]);
    assert!(tree.resolve().usable("a").unwrap().read("out").is_err());
}

#[test]
fn kept_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new();
    tree.skill("project/.agents/skills/a", "a", "");
    tree.trust("project");
    let copy = fs::read_dir(tree.path("home/trusted-skills")).unwrap().next().unwrap().unwrap().path();
    for path in [tree.path("home/trusted-skills.json"), copy] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
    }
}

#[test]
fn cached_result_is_used_until_a_change() {
    let tree = Tree::new();
    tree.skill("home/skills/own", "own", "");
    tree.skill("project/.agents/skills/a", "a", "");
    tree.write("project/.agents/skills/a/more.md", "one\n");
    tree.trust("project");
    tree.rest();
    let outcomes = |found: &Arc<Catalogue>| lines(&found.activate(&Situation::default()).summaries());
    let changes: [(&dyn Fn(), &[&str]); 5] = [
        (
            &|| tree.write("project/.agents/skills/a/more.md", "two\n"),
            &["a changed_since_trusted files_differ", "own active implicit"],
        ),
        (&|| tree.trust("project"), &["a active implicit", "own active implicit"]),
        (
            &|| tree.write("project/.agents/skills/a/new.md", ""),
            &["a changed_since_trusted files_differ", "own active implicit"],
        ),
        (
            &|| drop(tree.trust_file().untrust(&tree.path("project")).unwrap()),
            &["a untrusted never_trusted", "own active implicit"],
        ),
        (
            &|| tree.skill("home/skills/other", "other", ""),
            &["a untrusted never_trusted", "other active implicit", "own active implicit"],
        ),
    ];
    for (change, expected) in changes {
        let cache = SkillCache::new();
        tree.rest();
        let cold = tree.resolve_in("project", Some(&cache));
        let warm = tree.resolve_in("project", Some(&cache));
        assert!(Arc::ptr_eq(&cold, &warm), "nothing has changed");
        change();
        let changed = tree.resolve_in("project", Some(&cache));
        assert_eq!(outcomes(&changed), expected);
        assert_eq!(outcomes(&tree.resolve_in("project", Some(&cache))), expected, "and again");
    }
}
