-- The writes of an anonymous login in one transaction, without the product: user, identity, attempt
-- of one of many addresses, device, its user, event and session.
\set address random(0, 16777215)
select app_id as app, new_object_id() as "user", new_object_id() as identity, new_object_id() as device,
  new_object_id() as session from apps limit 1 \gset
begin;
insert into users (user_id, app_id, anonymous, last_login_at, login_count)
  values (:user, :app, true, now(), 1);
insert into identities (user_id, identity_id, app_id, provider, subject)
  values (:user, :identity, :app, 'anonymous', :user);
insert into rate_limits as a (app_id, subject, theoretical_arrival_at) values (:app, int4send(:address), now())
  on conflict (app_id, subject) do update set theoretical_arrival_at = greatest(a.theoretical_arrival_at, now());
insert into devices (device_id, app_id, secret_hash, user_ids)
  values (:device, :app, sha256(convert_to(:device, 'UTF8')), array[:user]);
insert into device_accounts (user_id, device_id, activated_at) values (:user, :device, now());
insert into sessions (user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at)
  values (:user, :session, :device, :app, 'anonymous', '', sha256(convert_to(:session, 'UTF8')),
    now() + interval '60 days');
insert into audit (user_id, event_id, app_id, action, actor, session_id, device_id)
  values (:user, new_object_id(), :app, 'login', 'user', :session, :device);
commit;
