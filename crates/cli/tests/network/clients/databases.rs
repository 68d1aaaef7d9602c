//! Clients of databases, which know no proxies.

use super::{Client, Service, Ways};

#[test]
fn psql() {
    Client {
        needs: &["psql"],
        services: &[Service::Postgres],
        allow: "db.test:5432",
        name: "db.test",
        script: "psql -X -h $NAME -U agent -d postgres -A -t -c 'select 6 * 7'",
        works: "42",
        ways: Ways::Direct,
        ..Client::USUAL
    }
    .check();
}

#[test]
fn redis() {
    Client {
        needs: &["redis-cli"],
        services: &[Service::Redis],
        allow: "db.test:6379",
        name: "db.test",
        script: "redis-cli -h $NAME ping",
        works: "PONG",
        ways: Ways::Direct,
        ..Client::USUAL
    }
    .check();
}
