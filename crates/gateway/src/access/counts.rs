//! How often somebody came in or was turned away: counted here, and written down every few seconds, because neither a save
//! nor a stranger may cost a write each.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::{
    AccessToken, AuditEntry, AuditEntryId, AuditEvent, AuthenticationFailure, Timestamp, TokenId, WorkspaceId,
};

use crate::access::Actor;

/// What is counted together: an entry for each token, and for each address and reason, a minute.
const PERIOD_MILLISECONDS: i64 = 60_000;
/// Addresses that are told apart in a period, so that strangers cannot fill the disk.
const MAX_SOURCES: usize = 16;
/// What the others are called.
const OTHERS: &str = "others";

/// What was counted and is not yet written down for good.
#[derive(Default)]
pub(crate) struct AccessCounts(Mutex<HashMap<Key, Counted>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    period: i64,
    what: Counting,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Counting {
    Token(TokenId),
    TurnedAway(String, AuthenticationFailure, Option<TokenId>),
}

struct Counted {
    entry: AuditEntry,
    is_written: bool,
}

impl AccessCounts {
    /// A good token was shown.
    pub(crate) fn came_in(&self, token: &AccessToken, now: Timestamp) {
        self.used(Holder::of(token), now, Use::Shown);
    }

    /// A call was made with a good token.
    pub(crate) fn called(&self, token: &AccessToken, now: Timestamp) {
        self.used(Holder::of(token), now, Use::Called);
    }

    /// A call that was counted was one that its token does not allow.
    pub(crate) fn forbidden(&self, actor: &Actor, now: Timestamp) {
        let Some(token_id) = &actor.token_id else { return };
        let holder = Holder { token_id, name: &actor.name, workspace_id: actor.workspace_id.as_ref() };
        self.used(holder, now, Use::Forbidden);
    }

    /// Somebody was turned away, with a token that was good once or with none that ever was.
    pub(crate) fn turned_away(
        &self,
        source: IpAddr,
        reason: AuthenticationFailure,
        token: Option<&AccessToken>,
        now: Timestamp,
    ) {
        let mut counts = self.lock();
        let (period, token_id) = (period(now), token.map(|token| token.id.clone()));
        let mut key = Key { period, what: Counting::TurnedAway(network(source), reason, token_id) };
        let strangers = |key: &&Key| key.period == period && matches!(key.what, Counting::TurnedAway(..));
        if !counts.contains_key(&key) && counts.keys().filter(strangers).count() >= MAX_SOURCES {
            key.what = Counting::TurnedAway(OTHERS.to_owned(), AuthenticationFailure::Unknown, None);
        }
        let Counting::TurnedAway(source, reason, token_id) = key.what.clone() else { return };
        let holder = token.filter(|_| token_id.is_some()).map(Holder::of);
        let counted = counts.entry(key).or_insert_with(|| {
            let event = AuditEvent::AuthenticationFailed { source, reason, count: 0, until: now };
            Counted::new(holder, event, now)
        });
        counted.is_written = false;
        if let AuditEvent::AuthenticationFailed { count, until, .. } = &mut counted.entry.event {
            *count += 1;
            *until = now;
        }
    }

    fn used(&self, holder: Holder<'_>, now: Timestamp, what: Use) {
        let key = Key { period: period(now), what: Counting::Token(holder.token_id.clone()) };
        let mut counts = self.lock();
        let counted = counts.entry(key).or_insert_with(|| {
            let (token_id, until) = (holder.token_id.clone(), now);
            let event = AuditEvent::TokenUsed { token_id, authentications: 0, calls: 0, forbidden: 0, until };
            Counted::new(Some(holder), event, now)
        });
        counted.is_written = false;
        if let AuditEvent::TokenUsed { authentications, calls, forbidden, until, .. } =
            &mut counted.entry.event
        {
            match what {
                Use::Shown => *authentications += 1,
                Use::Called => *calls += 1,
                Use::Forbidden => *forbidden += 1,
            }
            *until = now;
        }
    }

    /// What is to be written down, until [`Unwritten::written`] says that it is.
    pub(crate) fn take_to_write(&self, now: Timestamp) -> Unwritten<'_> {
        Unwritten { counts: self, entries: self.take(now) }
    }

    /// What is to be written down; what is and cannot grow any more is forgotten.
    fn take(&self, now: Timestamp) -> Vec<AuditEntry> {
        let mut counts = self.lock();
        counts.retain(|key, counted| key.period >= period(now) || !counted.is_written);
        let pending = counts.values_mut().filter(|counted| !counted.is_written);
        pending
            .map(|counted| {
                counted.is_written = true;
                counted.entry.clone()
            })
            .collect()
    }

    /// They could not be written down.
    fn put_back(&self, entries: &[AuditEntry]) {
        let mut counts = self.lock();
        for counted in counts.values_mut().filter(|it| entries.iter().any(|entry| entry.id == it.entry.id)) {
            counted.is_written = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Entries that are being written. Whatever becomes of that, an error or the end of the task that writes them, they are
/// written again unless it is said that they are.
pub(crate) struct Unwritten<'a> {
    counts: &'a AccessCounts,
    pub(crate) entries: Vec<AuditEntry>,
}

impl Unwritten<'_> {
    pub(crate) fn written(mut self) {
        self.entries.clear();
    }
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        self.counts.put_back(&self.entries);
    }
}

/// What is counted of a token.
#[derive(Clone, Copy)]
enum Use {
    Shown,
    Called,
    /// Besides being called.
    Forbidden,
}

/// Whose token it is that is counted.
#[derive(Clone, Copy)]
struct Holder<'a> {
    token_id: &'a TokenId,
    name: &'a str,
    workspace_id: Option<&'a WorkspaceId>,
}

impl<'a> Holder<'a> {
    fn of(token: &'a AccessToken) -> Self {
        Self { token_id: &token.id, name: &token.name, workspace_id: token.workspace_id.as_ref() }
    }
}

impl Counted {
    fn new(holder: Option<Holder<'_>>, event: AuditEvent, now: Timestamp) -> Self {
        let entry = AuditEntry {
            id: AuditEntryId::new(),
            at: now,
            actor: holder.map(|holder| holder.name.to_owned()),
            workspace_id: holder.and_then(|holder| holder.workspace_id.cloned()),
            event,
        };
        Self { entry, is_written: false }
    }
}

fn period(now: Timestamp) -> i64 {
    now.milliseconds().div_euclid(PERIOD_MILLISECONDS)
}

/// An address as it is counted. Whoever has one of IPv6 has a whole network of them.
fn network(source: IpAddr) -> String {
    match source.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use protocol::Role;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_milliseconds(milliseconds)
    }

    fn token(name: &str) -> AccessToken {
        AccessToken {
            id: TokenId::new(),
            name: name.to_owned(),
            role: Role::Reader,
            workspace_id: None,
            created_at: at(0),
            created_by: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn a_minute_of_a_token_is_one_entry() {
        let (counts, token) = (AccessCounts::default(), token("ci"));
        counts.came_in(&token, at(1_000));
        counts.called(&token, at(2_000));
        let [first] = &counts.take(at(3_000))[..] else { panic!() };
        counts.called(&token, at(4_000));
        let actor = Actor { token_id: Some(token.id.clone()), name: "ci".to_owned(), ..Actor::stdio() };
        counts.forbidden(&actor, at(4_000));
        let [second] = &counts.take(at(5_000))[..] else { panic!() };
        assert_eq!((&first.id, first.at, first.actor.as_deref()), (&second.id, at(1_000), Some("ci")));
        let event = AuditEvent::TokenUsed {
            token_id: token.id.clone(),
            authentications: 1,
            calls: 2,
            forbidden: 1,
            until: at(4_000),
        };
        assert_eq!(second.event, event);
        assert_eq!(counts.take(at(6_000)), []);
        counts.called(&token, at(61_000));
        let [next] = &counts.take(at(62_000))[..] else { panic!() };
        assert_ne!(next.id, second.id);
        assert_eq!(counts.lock().len(), 1, "what cannot grow any more is forgotten");
    }

    #[test]
    fn strangers_do_not_fill_the_disk() {
        let counts = AccessCounts::default();
        for number in 0..10_000_u32 {
            let source = IpAddr::V4(Ipv4Addr::from(number));
            counts.turned_away(source, AuthenticationFailure::Unknown, None, at(0));
        }
        let entries = counts.take(at(0));
        assert_eq!(entries.len(), MAX_SOURCES + 1);
        let total: u64 = entries
            .iter()
            .map(|entry| match &entry.event {
                AuditEvent::AuthenticationFailed { count, .. } => *count,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(total, 10_000);
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let counts = AccessCounts::default();
        counts.came_in(&token("ci"), at(0));
        let pending = counts.take(at(0));
        counts.put_back(&pending);
        // A task that is stopped while it writes says nothing more.
        drop(counts.take_to_write(at(60_000)));
        let again = counts.take_to_write(at(120_000));
        assert_eq!(again.entries, pending);
        again.written();
        assert_eq!(counts.take(at(180_000)), []);
    }

    #[test]
    fn a_network_of_addresses_is_one_source() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!((network("::1"), network("::ffff:10.0.0.1")), ("::1".into(), "10.0.0.1".into()));
    }
}
