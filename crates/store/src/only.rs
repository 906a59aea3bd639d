//! Selecting the one row that a key allows.

use sea_orm::{ConnectionTrait, DbErr, EntityTrait, Select, SelectTwo, Selector, SelectorTrait};

/// A query whose conditions name a key, so that it finds one row at most.
///
/// SeaORM's `one` would add a `LIMIT` and bind its number, and SQLite plans a statement again each time that a
/// number it planned with is bound.
pub(crate) trait Only {
    /// What is found.
    type Row;

    /// The row, if there is one.
    fn only(
        self,
        connection: &impl ConnectionTrait,
    ) -> impl Future<Output = Result<Option<Self::Row>, DbErr>> + Send;
}

impl<E: EntityTrait> Only for Select<E> {
    type Row = E::Model;

    async fn only(self, connection: &impl ConnectionTrait) -> Result<Option<E::Model>, DbErr> {
        Ok(self.all(connection).await?.into_iter().next())
    }
}

impl<E: EntityTrait, F: EntityTrait> Only for SelectTwo<E, F> {
    type Row = (E::Model, Option<F::Model>);

    async fn only(self, connection: &impl ConnectionTrait) -> Result<Option<Self::Row>, DbErr> {
        Ok(self.all(connection).await?.into_iter().next())
    }
}

impl<S: SelectorTrait + Send> Only for Selector<S> {
    type Row = S::Item;

    async fn only(self, connection: &impl ConnectionTrait) -> Result<Option<S::Item>, DbErr> {
        Ok(self.all(connection).await?.into_iter().next())
    }
}
