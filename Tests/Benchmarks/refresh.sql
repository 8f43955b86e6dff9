-- The writes of a refresh, without the product.
\set n random(0, :sessions - 1)
update sessions s set refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
  expires_at = now() + interval '60 days'
from bench_sessions b join users u on u.user_id = b.user_id and u.blocked_at is null
where b.n = :n and s.user_id = b.user_id and s.session_id = b.session_id and s.ended_at is null
  and s.expires_at > now()
returning s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt;
