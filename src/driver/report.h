/*
 * report.h
 *		Report what libmongoc or MongoDB says as PostgreSQL's errors.
 */
#ifndef MTS_REPORT_H
#define MTS_REPORT_H

#include "driver/connection.h"

#include "core/error.h"

/*
 * Our code of MONGOC_ERROR_SERVER_SELECTION where members answer, but none of
 * them is one that the call needs
 */
#define MTS_NO_SUCH_MEMBER 1

extern bool mts_report_refuse(MtsError *error, const char *detail,
							  const char *hint);
extern char *mts_report_reading(const char *database, const char *collection);
extern char *mts_report_writing(const char *database, const char *collection);
extern char *mts_report_detail(const MtsConnection *connection,
							   const bson_error_t *error);
extern _Noreturn void mts_report_failure(MtsConnection *connection,
										 const char *message,
										 const bson_error_t *error);
extern _Noreturn void mts_report_unknown(MtsConnection *connection,
										 const char *message,
										 const bson_error_t *error,
										 const char *outcome);
extern _Noreturn void mts_report_write_failure(MtsConnection *connection,
											   const char *message,
											   const bson_error_t *error);

#endif /* MTS_REPORT_H */
