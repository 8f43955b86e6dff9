import Postgres
import Runtime

extension SQL {
  /// The columns of a `Job`.
  fileprivate static let job: SQL = """
    job_id, app_id, administrator_id, kind, state, parameters, progress, input_parts::bigint,
      input_bytes, claim, tries::bigint, error, created_at, started_at, ended_at
    """
}

/// The statements of the table of jobs, which is on the coordinator of a distributed database.
package enum JobQueries {
  static let insert = Statement<
    Job, JobID, AppID, UserID?, String, String, TextBytes, TextBytes
  >(
    "jobs.insert",
    """
    insert into jobs (job_id, app_id, administrator_id, kind, state, parameters, progress)
    values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb) returning \(.job)
    """)

  /// Returns how many jobs an app has, and the bytes of their input and results.
  ///
  /// Served by `jobs_by_app`.
  static let space = Statement<JobSpace, AppID>(
    "jobs.space",
    """
    select count(*),
      coalesce(sum(input_bytes + coalesce((progress ->> 'result_bytes')::bigint, 0)), 0)::bigint
    from jobs where app_id = $1
    """)

  /// Served by `jobs_by_app`.
  static let page = Statement<Job, AppID, JobID?, Int>(
    "jobs.page",
    """
    select \(.job) from jobs where app_id = $1 and ($2::text is null or job_id < $2::text)
    order by job_id desc limit $3
    """)

  static let find = Statement<Job, JobID, AppID>(
    "jobs.find", "select \(.job) from jobs where job_id = $1 and app_id = $2"
  )

  static let lock = Statement<Job, JobID, AppID>(
    "jobs.lock", "select \(.job) from jobs where job_id = $1 and app_id = $2 for update"
  )

  static let addInput = Statement<Job, JobID, Int, Int>(
    "jobs.add_input",
    """
    update jobs set input_parts = greatest(input_parts, $2::bigint),
      input_bytes = input_bytes + $3::bigint, state = 'open', progress = '{}'
    where job_id = $1 returning \(.job)
    """)

  /// - Parameter 3: who starts it, in whose name it runs; null for the operator.
  static let start = Statement<Job, JobID, TextBytes, UserID?>(
    "jobs.start",
    """
    update jobs set state = 'running', administrator_id = $3, progress = $2::jsonb, tries = 0,
      error = null,
      claimed_until = now(), started_at = null, ended_at = null
    where job_id = $1 returning \(.job)
    """)

  static let stop = Statement<Job, JobID>(
    "jobs.stop",
    """
    update jobs set state = 'stopped', ended_at = now() where job_id = $1 returning \(.job)
    """)

  static let remove = Statement<NoRow, JobID>("jobs.remove", "delete from jobs where job_id = $1")

  /// Returns jobs that no worker has claimed.
  ///
  /// Served by `jobs_by_turn`.
  static let due = Statement<JobID>(
    "jobs.due",
    """
    select job_id from jobs where state = 'running' and claimed_until <= now()
    order by claimed_until limit 10
    """)

  /// Claims a job for one worker; returns no row if another worker has claimed it.
  ///
  /// A worker that dies leaves its claim, which expires. The next one continues.
  static let claim = Statement<Job, JobID, Duration, ServerTime>(
    "jobs.claim",
    """
    update jobs set claim = claim + 1, tries = tries + 1, claimed_until = now() + $2::interval,
      started_at = coalesce(started_at, $3::timestamptz)
    where job_id = $1 and state = 'running' and claimed_until <= now() returning \(.job)
    """)

  /// Stores the progress of a claimed job; no row if the job was stopped, or another worker has
  /// claimed it.
  static let advance = Statement<Int, JobID, Int, TextBytes, Duration>(
    "jobs.advance",
    """
    update jobs set progress = $3::jsonb, tries = 0, claimed_until = now() + $4::interval
    where job_id = $1 and claim = $2 and state = 'running' returning 1
    """)

  static let end = Statement<Int, JobID, Int, TextBytes, String, String?>(
    "jobs.end",
    """
    update jobs set progress = $3::jsonb, state = $4, error = $5, ended_at = now()
    where job_id = $1 and claim = $2 and state = 'running' returning 1
    """)
}

/// The statements of the parts, each for one job.
package enum JobPartQueries {
  static let insert = Statement<NoRow, JobID, String, BinaryBytes>(
    "job_parts.insert",
    """
    insert into job_parts (job_id, part, sealed) values ($1, $2, $3)
    on conflict (job_id, part) do update set sealed = excluded.sealed
    """)

  static let find = Statement<SealedPart, JobID, String>(
    "job_parts.find", "select part, sealed from job_parts where job_id = $1 and part = $2"
  )

  /// Returns the next part of the input after a part.
  static let nextInput = Statement<SealedPart, JobID, String>(
    "job_parts.next_input",
    """
    select part, sealed from job_parts where job_id = $1 and part > $2 and part < 'in~'
    order by part limit 1
    """)

  /// Deletes the parts of an upload; returns their sizes.
  static let removeUpload = Statement<Int, JobID, String, String>(
    "job_parts.remove_upload",
    """
    delete from job_parts where job_id = $1 and part > $2 and part < $3
    returning octet_length(sealed)::bigint
    """)

  static let remove = Statement<NoRow, JobID>(
    "job_parts.remove", "delete from job_parts where job_id = $1"
  )
}

/// How much an app keeps of its jobs.
struct JobSpace: RowDecodable {
  let jobs: Int
  let bytes: Int

  init(from row: Row) throws(DatabaseError) {
    jobs = try row.int(0)
    bytes = try row.int(1)
  }
}
