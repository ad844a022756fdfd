/*
 * tree.h
 *		Represents a document as a tree that can grow anywhere, and writes it
 *		as BSON.
 *
 * The keys of subdocuments are written in random order.
 */
#ifndef TREE_H
#define TREE_H

#include <bson/bson.h>

#include "tap.h"

typedef struct Node
{
	const char *key; /* NULL for an array's element */
	char text[64];   /* of key */
	bson_type_t type;
	int64_t number;
	const char *string; /* of a text; of a double, NULL for number / 1000 */
	struct Node *first;
	struct Node *next;
} Node;

/* Rotate a list of children up to three times, at random places. */
static inline void
node_shuffle(Node *parent)
{
	for (int turn = 0; turn < 3 && parent->first; turn++)
	{
		Node *last = parent->first;
		int64_t cut = random_below(20);

		while (last->next && cut-- > 0)
			last = last->next;
		if (last->next)
		{
			Node *head = last->next;

			last->next = head->next;
			head->next = parent->first;
			parent->first = head;
		}
	}
}

static inline void
node_write(Node *parent, bson_t *doc)
{
	char index[16];
	int n = 0;

	if (parent->type == BSON_TYPE_DOCUMENT)
		node_shuffle(parent);
	for (Node *node = parent->first; node; node = node->next)
	{
		const char *key = node->key;
		bson_t child;
		bson_oid_t oid = {{0}};

		if (!key)
			snprintf(index, sizeof(index), "%d", n++);
		key = key ? key : index;
		for (int i = 0; i < 4; i++)
			oid.bytes[i] = (uint8_t) (node->number >> (24 - 8 * i));
		if (node->type == BSON_TYPE_DOCUMENT)
			bson_append_document_begin(doc, key, -1, &child);
		else if (node->type == BSON_TYPE_ARRAY)
			bson_append_array_begin(doc, key, -1, &child);
		else if (node->type == BSON_TYPE_INT32)
			bson_append_int32(doc, key, -1, (int32_t) node->number);
		else if (node->type == BSON_TYPE_INT64)
			bson_append_int64(doc, key, -1, node->number);
		else if (node->type == BSON_TYPE_DOUBLE)
			bson_append_double(doc, key, -1,
							   node->string ? strtod(node->string, NULL)
											: (double) node->number / 1000);
		else if (node->type == BSON_TYPE_DATE_TIME)
			bson_append_date_time(doc, key, -1, node->number);
		else if (node->type == BSON_TYPE_UTF8)
			bson_append_utf8(doc, key, -1, node->string, -1);
		else if (node->type == BSON_TYPE_OID)
			bson_append_oid(doc, key, -1, &oid);
		else
			bson_append_null(doc, key, -1);
		if (node->type == BSON_TYPE_DOCUMENT || node->type == BSON_TYPE_ARRAY)
		{
			node_write(node, &child);
			if (node->type == BSON_TYPE_DOCUMENT)
				bson_append_document_end(doc, &child);
			else
				bson_append_array_end(doc, &child);
		}
	}
}

#endif /* TREE_H */
