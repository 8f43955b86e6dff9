-- The writes of a refresh, without the product.
\set n random(0, :sessions - 1)
update sessions s set refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
  expires_at = now() + interval '60 days'
from bench_sessions b cross join lateral caller(b.user_id, b.session_id) c
where b.n = :n and s.user_id = c.user_id and s.session_id = b.session_id and s.ended_at is null
returning s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt;
