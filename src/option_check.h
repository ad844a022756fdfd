/*
 * option_check.h
 *		Is this a value of that option?
 *
 * A check returns false with the reason in *error when it is not.
 */
#ifndef MTS_OPTION_CHECK_H
#define MTS_OPTION_CHECK_H

#include "postgres.h"

#include "core/path.h"

typedef bool (*MtsOptionCheck)(const char *value, MtsError *error);

extern bool mts_option_check_any(const char *value, MtsError *error);
extern bool mts_option_check_bool(const char *value, MtsError *error);
extern bool mts_option_check_bson_type(const char *value, MtsError *error);
extern bool mts_option_check_bucket_format(const char *value, MtsError *error);
extern bool mts_option_check_bucket_path(const char *value, MtsError *error);
extern bool mts_option_check_collection(const char *value, MtsError *error);
extern bool mts_option_check_count(const char *value, MtsError *error);
extern bool mts_option_check_format(const char *value, MtsError *error);
extern bool mts_option_check_json(const char *value, MtsError *error);
extern bool mts_option_check_on_invalid(const char *value, MtsError *error);
extern bool mts_option_check_on_subresolution(const char *value,
											  MtsError *error);
extern bool mts_option_check_password_required(const char *value,
											   MtsError *error);
extern bool mts_option_check_path(const char *value, MtsError *error);
extern bool mts_option_check_role(const char *value, MtsError *error);
extern bool mts_option_check_sample_size(const char *value, MtsError *error);
extern bool mts_option_check_span(const char *value, MtsError *error);
extern bool mts_option_check_uri(const char *value, MtsError *error);
extern bool mts_option_check_write_mode(const char *value, MtsError *error);
extern bool mts_option_check_zone(const char *value, MtsError *error);

#endif /* MTS_OPTION_CHECK_H */
