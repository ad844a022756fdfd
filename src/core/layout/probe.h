/*
 * probe.h
 *		Tell how far a path leads in documents.
 */
#ifndef MTS_PROBE_H
#define MTS_PROBE_H

#include "core/layout/path.h"

#define MTS_PROBE_KEYS 12     /* names that a probe keeps at most */
#define MTS_PROBE_KEY_SIZE 64 /* of such a name, NUL included */

typedef struct MtsProbe
{
	const MtsPath *path;
	bool is_found;  /* some document has the field */
	int nfound;     /* steps of the path that some document has */
	int missing_at; /* the furthest name that some document lacks; or -1 */

	/* where that name is missing */
	int nkeys;
	char keys[MTS_PROBE_KEYS][MTS_PROBE_KEY_SIZE]; /* of the first place */
	char similar[MTS_PROBE_KEY_SIZE]; /* a key that differs from the name in
									   * case only; or empty */
} MtsProbe;

extern bool mts_probe_is_at(const MtsElement *element, const MtsStep *step,
							bool in_array);
extern void mts_probe_init(MtsProbe *probe, const MtsPath *path);
extern void mts_probe_document(MtsProbe *probe, const MtsElement *document);
extern bool mts_probe_is_absent(const MtsProbe *probe);
extern void mts_probe_escape(const char *name, char *escaped);
extern bool mts_probe_correct(const MtsProbe *probe, const char *text,
							  char *corrected);

#endif /* MTS_PROBE_H */
