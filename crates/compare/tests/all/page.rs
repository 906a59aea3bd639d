//! The page with the maps of all agents.

use compare::{Map, Names, Tree, effective, page};
use instructions::{FileSettings, PROFILES};
use tokens::Counter;

use crate::support::Fixture;

fn maps(tree: &Tree) -> Vec<Map> {
    let counter = Counter::default();
    let map = |profile: &&'static instructions::Profile| {
        Map::new(tree, &effective(tree, &FileSettings::of(profile)).unwrap(), &counter, |_| Vec::new())
    };
    PROFILES.iter().map(map).collect()
}

#[test]
fn hostile_names_stay_data() {
    let fixture = Fixture::new(".git/\nAGENTS.md = A");
    let name = "</script><img src=x onerror=alert(1)>";
    std::fs::create_dir_all(fixture.path(name).parent().unwrap()).unwrap();
    std::fs::create_dir_all(fixture.path("<b>&\u{2028}\"'`\n")).unwrap();
    std::fs::write(fixture.path("<b>&\u{2028}\"'`\n").join("AGENTS.md"), "A").unwrap();
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    let page = page(&tree, &maps(&tree), "codex").unwrap();
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
    assert!(!page[start..end].contains(['<', '&']));
    assert_eq!(data["chosen"], "codex");
    let root = fixture.path("").to_string_lossy().trim_end_matches('/').to_owned();
    assert!(!page.contains(&root), "the page shows nothing of its maker's directories");
    assert_eq!(data["agents"].as_array().unwrap().len(), PROFILES.len());
    assert_eq!(data["directories"].as_array().unwrap().len(), tree.directories().len());
    for agent in data["agents"].as_array().unwrap() {
        let sets = agent["sets"].as_array().unwrap().len() as u64;
        let of = agent["of"].as_array().unwrap();
        assert_eq!(of.len(), tree.directories().len());
        assert!(of.iter().all(|set| set.as_u64().unwrap() < sets));
    }
}

#[test]
fn a_map_lists_the_files_of_each_directory() {
    let fixture = Fixture::new(
        "
        .git/
        AGENTS.md * 30000
        a/AGENTS.md * 8000
        a/deep/x
        b/x
        ",
    );
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    let map = maps(&tree).into_iter().find(|map| map.agent == "codex").unwrap();
    let outline = map.outline(&tree, &fixture.path(""));
    let root = fixture.path("");
    let lines: Vec<String> =
        outline.lines().map(|line| line.replace(&*root.to_string_lossy(), "ROOT")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("ROOT  1 file, about ") && lines[0].ends_with("+ AGENTS.md"), "{lines:?}");
    assert!(
        lines[1].starts_with("  a  2 files, about ") && lines[1].contains(", 5,232 bytes lost"),
        "{lines:?}"
    );
    assert_eq!(map.sets.len(), 2);
    let json = serde_json::to_value(&map).unwrap();
    let deep = &json["directories"][2];
    assert_eq!(deep["path"], fixture.path("a/deep").to_str().unwrap());
    assert_eq!(deep["files"].as_array().unwrap().len(), 2);
    assert_eq!((&deep["set"], &deep["lost_bytes"]), (&1.into(), &5232.into()));
    assert_eq!(json["sets"][1]["files"][1]["kept_bytes"], 2768);
}
