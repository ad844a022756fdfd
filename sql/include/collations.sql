-- A PostgreSQL without ICU gets stand-ins, which are not C either.
DO $$ DECLARE
  name text;
BEGIN
  SET LOCAL allow_system_table_mods = on;
  FOREACH name IN ARRAY ARRAY['en-x-icu', 'und-x-icu'] LOOP
    IF getdatabaseencoding() = 'UTF8' AND to_regcollation(quote_ident(name)) IS NULL THEN
      EXECUTE format('CREATE COLLATION pg_catalog.%I FROM "C.utf8"', name);
    END IF;
  END LOOP;
END $$;
