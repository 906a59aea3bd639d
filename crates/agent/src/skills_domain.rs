//! Skills in a turn: the hook that tells a model of them, and the tool that reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hooks::{
    ContributionKind, Execution, Hook, HookContext, HookPackage, HookResult, HookSubscription, Phase,
    PromptSection, Visibility,
};
use prompt::{ContributedSection, SKILLS_RUNTIME};
use protocol::ToolSpec;
use protocol::prompt::{PromptSource, PromptSourceKind, PromptTruncation};
use schemars::JsonSchema;
use serde::Deserialize;
use skills::{Activation, Cache, Request, Situation, SkillSettings};
use tools::{Arguments, Needs, RoundContext, Tool, ToolContext, ToolOutput, ToolSource, Toolbox};

use crate::document_hook::DOCUMENT_HOOK;
use crate::settings::AgentSettings;
use crate::task::blocking;

/// The hook's id.
pub const SKILLS_HOOK: &str = "foreword.skills_prompt";
/// Its package.
const PACKAGE: &str = "foreword.prompt.skills";
/// What it is about.
const DOMAIN: &str = "foreword.skills";
/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Its place among the hooks that contribute sections.
const PRIORITY: i32 = 500;
/// What a section's source is called.
const SOURCE: &str = "skill";

/// Which skills there are for turns of this gateway.
pub(crate) struct SkillsDomain {
    settings: SkillSettings,
    home: PathBuf,
    private_paths: Vec<PathBuf>,
    cache: Cache,
}

impl SkillsDomain {
    /// None where skills are switched off: nothing is left of them then.
    pub(crate) fn new(settings: &AgentSettings) -> Option<Arc<Self>> {
        settings.skills.enabled.then(|| {
            Arc::new(Self {
                settings: settings.skills.clone(),
                home: settings.home.clone(),
                private_paths: settings.private_paths.clone(),
                cache: Cache::new(),
            })
        })
    }

    /// What becomes of every skill in a turn. Looks at the disk.
    fn activate(&self, place: &Place) -> Activation {
        let request = Request {
            home: &self.home,
            root: place.root.as_deref(),
            cwd: place.cwd.as_deref(),
            folders: &self.settings.folders,
            private_paths: &self.private_paths,
        };
        let situation = Situation {
            cwd: place.cwd.as_deref(),
            touched: &place.touched,
            implicit: self.settings.implicit(),
            ..Situation::default()
        };
        skills::resolve(&request, Some(&self.cache)).activate(&situation)
    }

    async fn activation(self: &Arc<Self>, place: Place) -> Activation {
        let domain = Arc::clone(self);
        blocking(move || domain.activate(&place)).await
    }
}

/// Where a turn works, and what it has touched.
#[derive(Debug, Default)]
struct Place {
    root: Option<PathBuf>,
    cwd: Option<PathBuf>,
    touched: Vec<PathBuf>,
}

/// The package to register.
pub(crate) fn package(domain: Arc<SkillsDomain>) -> HookPackage {
    let subscription = HookSubscription::new(SKILLS_HOOK, Phase::PrePromptCompile, SkillsHook(domain))
        .execution(Execution::Blocking)
        .timeout(TIMEOUT)
        .priority(PRIORITY)
        // Their records have an order then, which people read.
        .after(DOCUMENT_HOOK)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection]);
    HookPackage::new(PACKAGE, DOMAIN).with(subscription)
}

struct SkillsHook(Arc<SkillsDomain>);

impl Hook for SkillsHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        let place = Place {
            root: turn.root.clone(),
            cwd: turn.directory.clone(),
            touched: turn.touched_paths.clone(),
        };
        let activation = self.0.activation(place).await;
        // The texts of skills are read from the disk.
        let section = blocking(move || section(&activation)).await;
        Ok(section.into_iter().map(Into::into).collect())
    }
}

/// The section of a directory's prompt that no hook runs for.
pub(crate) async fn contributed(
    domain: &Arc<SkillsDomain>,
    root: Option<PathBuf>,
    cwd: PathBuf,
) -> Option<ContributedSection> {
    let activation = domain.activation(Place { root, cwd: Some(cwd), touched: Vec::new() }).await;
    let section = blocking(move || section(&activation)).await?;
    Some(ContributedSection {
        hook_id: SKILLS_HOOK.to_owned(),
        subscription_id: SKILLS_HOOK.to_owned(),
        truncation: PromptTruncation::None,
        section,
    })
}

/// What the model is told; none where no skill is active.
fn section(activation: &Activation) -> Option<PromptSection> {
    let text = activation.runtime_text()?;
    let active = activation.active();
    let listed = active.len() - text.unlisted;
    let sources = active.iter().take(listed).filter_map(|(skill, _)| {
        Some(PromptSource {
            path: Some(skill.file().to_string_lossy().into_owned()),
            id: Some(skill.slug.clone()),
            ..PromptSource::new(PromptSourceKind::Other(SOURCE.to_owned()), skill.sha256.clone()?)
        })
    });
    let sources = sources.collect();
    let mut section = PromptSection::new(SOURCE, SKILLS_RUNTIME, "Skills Runtime", text.text);
    section.priority = PRIORITY;
    section.sources = sources;
    Some(section)
}

/// Offers `read_skill` where a skill can be read, in chats too.
pub(crate) struct SkillTools {
    domain: Arc<SkillsDomain>,
    toolbox: Toolbox,
}

impl SkillTools {
    pub(crate) fn new(domain: Arc<SkillsDomain>) -> Self {
        let mut toolbox = Toolbox::new();
        let added = toolbox.add(ReadSkill { domain: Arc::clone(&domain) });
        debug_assert!(added.is_ok(), "our own tool has a name and a schema");
        Self { domain, toolbox }
    }
}

impl ToolSource for SkillTools {
    fn name(&self) -> &str {
        "skills"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async move {
            let (root, cwd) = (round.root.clone(), round.directory.clone());
            let activation = self.domain.activation(Place { root, cwd, touched: Vec::new() }).await;
            // One that waits for a path may become active later, and the list of tools must not change for that.
            let can_be_read = activation.catalogue().skills().iter().any(|skill| {
                activation.catalogue().usable(&skill.slug).is_some_and(|usable| std::ptr::eq(usable, skill))
            });
            if can_be_read { self.toolbox.clone() } else { Toolbox::new() }
        })
    }
}

/// Reads a skill, or a file of one.
struct ReadSkill {
    domain: Arc<SkillsDomain>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The skill, exactly as it is listed.
    slug: String,
    /// A file that the skill refers to, relative to its folder; the skill's own text when absent.
    file: Option<String>,
}

impl Tool for ReadSkill {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "read_skill",
            "Reads the instructions of a skill by its slug, or a file in the skill's folder.",
        )
    }

    fn needs(&self, _: &Arguments) -> Needs {
        // Skills are in places of their own, which no file tool reaches, and only what may be used is read.
        Needs::Nothing
    }

    async fn call(&self, context: ToolContext, arguments: Arguments) -> ToolOutput {
        let Parameters { slug, file } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let root = context.root().map(Path::to_owned);
        let cwd = root.is_some().then(|| context.cwd().to_owned());
        let activation = self.domain.activation(Place { root, cwd, touched: Vec::new() }).await;
        blocking(move || read(&activation, &slug, file.as_deref())).await
    }
}

fn read(activation: &Activation, slug: &str, file: Option<&str>) -> ToolOutput {
    let catalogue = activation.catalogue();
    let Some(skill) = catalogue.usable(slug) else {
        return ToolOutput::error(match catalogue.why_not(slug) {
            Some(found) => format!("the skill `{}` cannot be used: it is {}", found.slug, found.outcome),
            None => match protocol::similar(slug, catalogue.skills().iter().map(|skill| skill.slug.as_str()))
            {
                Some(meant) => format!("there is no such skill; did you mean `{meant}`?"),
                None => "there is no such skill; use a slug as it is listed".to_owned(),
            },
        });
    };
    match skill.read(file.unwrap_or("SKILL.md")) {
        Ok(text) => ToolOutput::text(text),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}
