//! The REST API in Rust, by axum and rusqlite: how far the service is from native code.
//!
//!     peer DB

mod admission;
mod store;

use std::sync::Arc;

use admission::{Admission, Refusal};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use store::{Item, Store};

struct Inventory {
    store: Store,
    admission: Admission,
}

type Shared = State<Arc<Inventory>>;

#[derive(Deserialize)]
struct Update {
    quantity: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: peer DB")?;
    let inventory = Arc::new(Inventory {
        store: Store::open(&file)?,
        admission: Admission::default(),
    });
    let app = Router::new()
        .route("/v1/inventory", get(list))
        .route("/v1/inventory/{pet_id}", get(read).patch(update))
        .layer(middleware::from_fn_with_state(inventory.clone(), admit))
        .with_state(inventory);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

async fn list(State(inventory): Shared) -> Response {
    match inventory.store.list() {
        Ok(items) => Json(items).into_response(),
        Err(_) => internal(),
    }
}

async fn read(State(inventory): Shared, Path(pet_id): Path<i64>) -> Response {
    answer(inventory.store.get(pet_id))
}

async fn update(
    State(inventory): Shared,
    Path(pet_id): Path<i64>,
    Json(update): Json<Update>,
) -> Response {
    answer(inventory.store.update(pet_id, update.quantity))
}

/// Lets requests with a key within its limits pass.
async fn admit(State(inventory): Shared, request: Request, next: Next) -> Response {
    let authorization = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    match inventory.admission.admit(authorization, &inventory.store) {
        Ok(limits) => {
            let mut response = next.run(request).await;
            add_limits(response.headers_mut(), limits);
            response
        }
        Err(Refusal::NoKey) => fail(
            StatusCode::UNAUTHORIZED,
            "API_KEY_INVALID",
            "send a valid API key",
        ),
        Err(Refusal::TooMuch(limits)) => {
            let mut response = fail(
                StatusCode::TOO_MANY_REQUESTS,
                "RATE_LIMITED",
                "the rate limit is exceeded",
            );
            add_limits(response.headers_mut(), limits);
            response
        }
    }
}

fn add_limits(headers: &mut HeaderMap, limits: admission::Limits) {
    headers.insert("x-ratelimit-limit", HeaderValue::from(limits.limit));
    headers.insert("x-ratelimit-remaining", HeaderValue::from(limits.remaining));
    headers.insert("x-ratelimit-reset", HeaderValue::from(limits.reset));
}

fn answer(found: rusqlite::Result<Option<Item>>) -> Response {
    match found {
        Ok(Some(item)) => Json(item).into_response(),
        Ok(None) => fail(
            StatusCode::NOT_FOUND,
            "PET_NOT_FOUND",
            "there is no such pet",
        ),
        Err(_) => internal(),
    }
}

fn internal() -> Response {
    fail(
        StatusCode::INTERNAL_SERVER_ERROR,
        "INTERNAL",
        "internal error",
    )
}

fn fail(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "code": code, "message": message, "status": status.as_u16() });
    (status, Json(body)).into_response()
}
