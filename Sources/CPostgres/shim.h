#pragma once
#include <libpq-fe.h>

// Swift does not import character macros, but it imports enumerators.
enum CPostgresField : int {
  CPostgresFieldSeverity = PG_DIAG_SEVERITY_NONLOCALIZED,
  CPostgresFieldSQLState = PG_DIAG_SQLSTATE,
  CPostgresFieldMessage = PG_DIAG_MESSAGE_PRIMARY,
  CPostgresFieldDetail = PG_DIAG_MESSAGE_DETAIL,
  CPostgresFieldHint = PG_DIAG_MESSAGE_HINT,
  CPostgresFieldPosition = PG_DIAG_STATEMENT_POSITION,
};
