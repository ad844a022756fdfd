/*
 * convert_text.h
 *		How does a BSON value read as text, and text as a Datum?
 */
#ifndef MTS_CONVERT_TEXT_H
#define MTS_CONVERT_TEXT_H

#include "convert.h"

extern bool mts_convert_refuse_value(const MtsConverter *converter,
									 const MtsElement *element,
									 MtsError *error);
extern bool mts_convert_input(MtsConverter *converter, FmgrInfo *input,
							  char *text, int32 typmod, Datum *value,
							  MtsError *error);
extern char *mts_convert_server_text(const char *utf8, size_t len);
extern char *mts_convert_value_text(const MtsElement *element);
extern bool mts_convert_by_text(MtsConverter *converter,
								const MtsElement *element, Datum *value,
								MtsError *error);

/* convert_time.c */
extern bool mts_convert_to_time(MtsConverter *converter,
								const MtsElement *element, Datum *value,
								MtsError *error);

#endif /* MTS_CONVERT_TEXT_H */
