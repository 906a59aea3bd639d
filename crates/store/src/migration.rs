//! The schema's history. A migration that was released is never edited; the next one is added below it.

mod approvals;
mod spine;
mod turns;

use sea_orm_migration::{MigrationTrait, MigratorTrait};

pub(crate) struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(spine::Migration), Box::new(turns::Migration), Box::new(approvals::Migration)]
    }
}
