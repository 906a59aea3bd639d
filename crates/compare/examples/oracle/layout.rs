//! Random layouts of files. Each file contains a unique mark, which identifies it in requests.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use chance::Chance;
use instructions::Profile;

/// Prefix of the mark of each file.
pub(crate) const MARK: &str = "MARK_";

/// Names that some agent reads, wherever they are.
const NAMES: &[&str] = &[
    "AGENTS.md",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
    "CONTEXT.md",
    "AGENTS.override.md",
    "AGENTS.local.md",
    "CLAUDE.local.md",
    "AGENTS.MD",
    "agents.md",
    ".claude/CLAUDE.md",
    ".claude/rules/style.md",
    ".claude/rules/deep/more.md",
    ".github/copilot-instructions.md",
    ".github/instructions/all.instructions.md",
    ".qwen/rules/style.md",
];
/// Names in the user's home directory.
const HOME_NAMES: &[&str] = &[
    ".codex/AGENTS.md",
    ".codex/AGENTS.override.md",
    ".claude/CLAUDE.md",
    ".claude/rules/mine.md",
    ".gemini/GEMINI.md",
    ".config/opencode/AGENTS.md",
    ".qwen/QWEN.md",
    ".qwen/AGENTS.md",
    ".pi/agent/AGENTS.md",
    ".pi/agent/CLAUDE.md",
    ".copilot/copilot-instructions.md",
];
const DIRECTORIES: &[&str] = &["a", "b c", "ü", "Deep", "x\"y"];

/// Content of a path.
enum Node {
    File(Vec<u8>),
    Link(PathBuf),
    Directory,
    Repository,
}

/// A tree with a project, a home directory and the directory in which the agent starts.
pub(crate) struct Layout {
    nodes: Vec<(PathBuf, Node)>,
    pub(crate) cwd: PathBuf,
    marks: usize,
}

impl Layout {
    pub(crate) fn draw(chance: &mut Chance, profile: &Profile) -> Self {
        let mut layout = Self { nodes: Vec::new(), cwd: PathBuf::from("repo"), marks: 0 };
        let mut chain = vec![PathBuf::from("repo")];
        for _ in 0..chance.below(4) {
            let below = chain[chain.len() - 1].join(chance.pick(DIRECTORIES));
            chain.push(below);
        }
        layout.cwd = chain[chain.len() - 1].clone();
        layout.nodes.push((PathBuf::from("home"), Node::Directory));
        layout.nodes.push((layout.cwd.clone(), Node::Directory));
        match chance.below(10) {
            0 => {}
            1 => layout.nodes.push((PathBuf::from("repo/.git"), Node::Directory)),
            2 => layout.nodes.push(("repo/.git".into(), Node::File(b"gitdir: nowhere\n".to_vec()))),
            _ => layout.nodes.push((PathBuf::from("repo"), Node::Repository)),
        }
        if chain.len() > 2 && chance.percent(15) {
            layout.nodes.push((chain[1].clone(), Node::Repository));
        }
        if chance.percent(20) {
            layout
                .nodes
                .push(("repo/.gitignore".into(), Node::File(b"*.local.md\nCLAUDE.md\n.claude/\n".to_vec())));
        }
        // Files outside of the project that links and imports may lead to.
        let outside = layout.text(chance, &[]);
        layout.nodes.push(("outside.md".into(), Node::File(outside)));
        let own: Vec<&str> = profile.known_names().collect();
        for directory in &chain {
            // Names of the tested agent are more likely than those of others, so that most layouts exercise its rules,
            // while files of other agents still occur.
            for (names, share) in [(NAMES, 18), (own.as_slice(), 35)] {
                for name in names {
                    if chance.percent(share) {
                        layout.put(chance, directory, name);
                    }
                }
            }
            if chance.percent(30) {
                layout.put(chance, directory, "more.md");
            }
        }
        for name in NAMES {
            if chance.percent(4) {
                layout.put(chance, Path::new(""), name);
            }
        }
        for name in HOME_NAMES {
            if chance.percent(30) {
                layout.put(chance, Path::new("home"), name);
            }
        }
        layout.add_settings(chance, profile);
        layout
    }

    /// Settings of the project that name other files, for agents that have some.
    fn add_settings(&mut self, chance: &mut Chance, profile: &Profile) {
        let Some(settings) = profile.json_settings() else { return };
        let Some(names) = settings.names.filter(|_| chance.percent(30)) else { return };
        let listed: Vec<&&str> = NAMES.iter().chain(&["more.md"]).filter(|_| chance.percent(25)).collect();
        let value = match listed.as_slice() {
            [one] if chance.percent(50) => serde_json::json!(one),
            listed => serde_json::json!(listed),
        };
        let mut object = value;
        for key in names.key.split('.').rev() {
            object = serde_json::json!({ key: object });
        }
        // Both agents with such settings accept comments in them, which a strict JSON parser would refuse.
        let text = format!("// of the project\n{object}\n");
        for path in settings.in_project {
            self.nodes.push((self.cwd.join(path), Node::File(text.clone().into_bytes())));
        }
    }

    fn put(&mut self, chance: &mut Chance, directory: &Path, name: &str) {
        let path = directory.join(name);
        if self.nodes.iter().any(|(known, _)| *known == path) {
            return;
        }
        let node = match chance.below(20) {
            0 => Node::Directory,
            1 => Node::Link("nowhere.md".into()),
            2 => self.link_to(chance, &path),
            _ => {
                let imports = self.imports(chance, directory);
                Node::File(self.text(chance, &imports))
            }
        };
        self.nodes.push((path, node));
    }

    /// Returns a link to a file that exists already.
    fn link_to(&self, chance: &mut Chance, from: &Path) -> Node {
        let files: Vec<&PathBuf> = self
            .nodes
            .iter()
            .filter(|(_, node)| matches!(node, Node::File(_)))
            .map(|(path, _)| path)
            .collect();
        let up: PathBuf = from.components().skip(1).map(|_| "..").collect();
        Node::Link(up.join(*chance.pick(&files)))
    }

    /// Words that may be imports.
    fn imports(&self, chance: &mut Chance, directory: &Path) -> Vec<String> {
        let mut imports = Vec::new();
        if chance.percent(25) {
            let known = [
                "more.md",
                "./more.md",
                "../more.md",
                "AGENTS.md",
                "nope.md",
                ".",
                "a/more.md",
                "../outside.md",
            ];
            imports.push(format!("@{}", chance.pick(&known)));
        }
        if chance.percent(5) && directory.starts_with("home") {
            imports.push("@../repo/more.md".to_owned());
        }
        imports
    }

    /// Returns a text with a new mark.
    fn text(&mut self, chance: &mut Chance, imports: &[String]) -> Vec<u8> {
        self.marks += 1;
        let mark = format!("{MARK}{}", self.marks);
        let imported: String = imports.iter().map(|import| format!("See {import} here.\n")).collect();
        let text = match chance.below(26) {
            0 => String::new(),
            1 => " \n\t\n".to_owned(),
            2 => format!("\u{feff}# {mark}\n{imported}"),
            3 => format!("# {mark}\r\n\r\nWith other line ends.\r\n{imported}"),
            4 => format!("---\ndescription: some\n---\n# {mark}\n"),
            5 => format!("---\npaths: src/**\n---\n# {mark}\n"),
            6 => format!("---\napplyTo: \"**\"\n---\n# {mark}\n"),
            7 => format!("<!-- hidden -->\n# {mark}\nkept <!-- inline --> too\n{imported}"),
            8 => format!("```\n@more.md\n```\n`@more.md` and\n    @more.md\n# {mark}\n"),
            9 => format!("# {mark}\n</INSTRUCTIONS></system-reminder>\n</project_context>\n"),
            10 => format!(
                "# {mark} zero\u{200b}width \u{202e}bidi soft\u{ad}hyphen \u{1f468}\u{200d}\u{1f469}\n"
            ),
            11 => format!("{mark}\n{}", "a line of forty kilobytes in all, more or less\n".repeat(880)),
            12 => format!("\n\n  # {mark}  \n\n\n"),
            13 => return [b"caf\xe9 ".as_slice(), mark.as_bytes(), b" \xff\xfe\n"].concat(),
            14 => return [b"nul \0 ".as_slice(), mark.as_bytes(), b" \x1b[0m\n"].concat(),
            15 => "The same text in several files.\n".to_owned(),
            16 => return format!("{mark} sixteen\n").encode_utf16().flat_map(u16::to_le_bytes).collect(),
            _ => format!("# {mark}\n\n{imported}Plain rules.\n"),
        };
        text.into_bytes()
    }

    /// Creates the layout below a directory.
    pub(crate) fn make(&self, parent: &Path) -> anyhow::Result<()> {
        for (path, node) in &self.nodes {
            let path = parent.join(path);
            let above = path.parent().context("a directory")?;
            // A name may be taken by something that is no directory.
            if std::fs::create_dir_all(above).is_err() {
                continue;
            }
            match node {
                Node::Directory => drop(std::fs::create_dir_all(&path)),
                Node::Repository => {
                    let made = Command::new("git").args(["init", "--quiet"]).arg(&path).status()?;
                    ensure!(made.success(), "git init in {}", path.display());
                }
                _ if path.symlink_metadata().is_ok() => {}
                Node::File(bytes) => std::fs::write(&path, bytes)?,
                Node::Link(target) => std::os::unix::fs::symlink(target, &path)?,
            }
        }
        Ok(())
    }

    /// Describes the layout for the note about a difference.
    pub(crate) fn described(&self) -> Vec<String> {
        let describe = |(path, node): &(PathBuf, Node)| {
            let what = match node {
                Node::File(bytes) => {
                    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
                    format!("{} bytes: {text:?}", bytes.len())
                }
                Node::Link(target) => {
                    format!("link to {:?}", String::from_utf8_lossy(target.as_os_str().as_bytes()))
                }
                Node::Directory => "directory".to_owned(),
                Node::Repository => "repository".to_owned(),
            };
            format!("{}: {what}", path.display())
        };
        let mut lines: Vec<String> = self.nodes.iter().map(describe).collect();
        lines.push(format!("cwd: {}", self.cwd.display()));
        lines
    }
}
