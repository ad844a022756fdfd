import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** Tests the catalog by the calls of reporting tools. */
class Catalog
{
	private Catalog()
	{
	}

	static void test(Connection connection) throws SQLException
	{
		DatabaseMetaData data = connection.getMetaData();
		List<String> foreign = List.of("cpu_load", "memory", "page_views", "readings", "stocks",
			"temperatures", "typed", "written");

		Tap.same(tables(data, "FOREIGN TABLE"), foreign, "pgjdbc: getTables, FOREIGN TABLE");
		Tap.same(tables(data, "TABLE"), List.of("devices", "owners"), "pgjdbc: getTables, TABLE: no foreign tables");
		Tap.same(tables(data, "TABLE", "VIEW"), List.of("devices", "owners", "stocks_view"),
			"pgjdbc: getTables, TABLE and VIEW: views over them");
		Tap.ok(column(data.getTableTypes(), "TABLE_TYPE").contains("FOREIGN TABLE"), "pgjdbc: getTableTypes");
		Tap.ok(column(data.getSchemas(), "TABLE_SCHEM").contains("public"), "pgjdbc: getSchemas");
		Tap.ok(column(data.getTypeInfo(), "TYPE_NAME").contains("timestamptz"), "pgjdbc: getTypeInfo");
		columns(data);
		Tap.same(column(data.getPrimaryKeys(null, "public", "devices"), "COLUMN_NAME"), List.of("id"),
			"pgjdbc: getPrimaryKeys, a local table");
		Tap.same(column(data.getPrimaryKeys(null, "public", "memory"), "COLUMN_NAME"), List.of(),
			"pgjdbc: getPrimaryKeys: none");
		Tap.same(column(data.getIndexInfo(null, "public", "memory", false, true), "INDEX_NAME"), List.of(),
			"pgjdbc: getIndexInfo: none");
		Tap.same(column(data.getImportedKeys(null, "public", "memory"), "FKCOLUMN_NAME"), List.of(),
			"pgjdbc: getImportedKeys: none");
		Tap.same(column(data.getBestRowIdentifier(null, "public", "memory",
			DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"), List.of(), "pgjdbc: getBestRowIdentifier: none");
		Tap.ok(column(data.getTablePrivileges(null, "public", "memory"), "PRIVILEGE").contains("SELECT"),
			"pgjdbc: getTablePrivileges");
		result(connection);
	}

	private static void columns(DatabaseMetaData data) throws SQLException
	{
		List<String> columns = new ArrayList<>();

		for (String table : List.of("memory", "written", "stocks_view"))
			try (ResultSet result = data.getColumns(null, "public", table, "%"))
			{
				while (result.next())
					columns.add(result.getString("COLUMN_NAME") + " " + result.getInt("DATA_TYPE") + " "
						+ result.getString("TYPE_NAME") + " " + result.getString("IS_NULLABLE") + " "
						+ result.getString("REMARKS"));
			}
		Tap.same(columns, List.of("timestamp 93 timestamptz YES null", "type 12 text YES null",
			"value -5 int8 YES kB", "timestamp 93 timestamptz NO null", "client 12 text NO null",
			"value 8 float8 YES null", "timestamp 93 timestamptz YES null", "symbol 12 text YES null",
			"price 2 numeric YES null"), "pgjdbc: getColumns: types, NOT NULL and comments");
	}

	private static void result(Connection connection) throws SQLException
	{
		try (PreparedStatement statement = connection.prepareStatement("SELECT * FROM written WHERE client = ?"))
		{
			ResultSetMetaData data = statement.getMetaData();

			Tap.same(List.of(data.getColumnType(1), data.getColumnTypeName(2), data.getColumnClassName(3),
				data.isNullable(1), data.isNullable(3)),
				List.of(Types.TIMESTAMP, "text", "java.lang.Double", ResultSetMetaData.columnNoNulls,
				ResultSetMetaData.columnNullable), "pgjdbc: the columns of a statement");
			Tap.same(statement.getParameterMetaData().getParameterTypeName(1), "text",
				"pgjdbc: the parameters of a statement");
		}
	}

	private static List<String> tables(DatabaseMetaData data, String... types) throws SQLException
	{
		return List.copyOf(new TreeSet<>(column(data.getTables(null, "public", "%", types), "TABLE_NAME")));
	}

	private static List<String> column(ResultSet result, String name) throws SQLException
	{
		List<String> values = new ArrayList<>();

		while (result.next())
			values.add(result.getString(name));
		result.close();
		return values;
	}
}
