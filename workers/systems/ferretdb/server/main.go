// Command ferretdb serves MongoDB's protocol with FerretDB, which keeps the documents in SQLite.
//
// FerretDB looks a document up by an expression that its own index does not have, so every look-up scans the
// collection: this server adds the index. It also states its folder and how SQLite waits for the disk, in a document by
// which Benchsite recognises the server and reads the durability mode.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	_ "modernc.org/sqlite"
)

const (
	pollInterval = time.Second
	// The collections of a database that have no index of the expression by which FerretDB looks up.
	unindexed = `SELECT table_name FROM _ferretdb_collections WHERE NOT EXISTS
		(SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = table_name || '_look_up')`
	index = `CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')`
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "host and port")
	data := flag.String("data", "", "folder of the SQLite files")
	synchronous := flag.String("synchronous", "full", "SQLite's pragma: full, normal or off")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, *listen, *data, *synchronous); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, data, synchronous string) error {
	pragma := fmt.Sprintf("?_pragma=synchronous(%s)", synchronous)
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: listen},
		Handler:   "sqlite",
		SQLiteURL: "file:" + data + "/" + pragma,
	})
	if err != nil {
		return err
	}
	go func() {
		if err := state(ctx, server.MongoDBURI(), data, pragma); err != nil {
			slog.Error("The server's settings could not be stated", "error", err)
		}
		for ctx.Err() == nil {
			if err := addIndexes(ctx, data); err != nil {
				slog.Error("An index could not be added; the next attempt follows", "error", err)
			}
			time.Sleep(pollInterval)
		}
	}()
	return server.Run(ctx)
}

// state writes the folder, the version and the pragma, as a connection with the server's own options reads it.
func state(ctx context.Context, uri, data, pragma string) error {
	db, err := sql.Open("sqlite", "file::memory:"+pragma)
	if err != nil {
		return err
	}
	defer db.Close()
	var level int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	client, err := mongo.Connect(ctx, options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer client.Disconnect(ctx)
	settings := bson.M{
		"data":        data,
		"handler":     "sqlite",
		"synchronous": []string{"off", "normal", "full", "extra"}[level],
		"version":     version(),
	}
	_, err = client.Database("benchsite_server").Collection("settings").ReplaceOne(
		ctx, bson.M{"_id": "server"}, settings, options.Replace().SetUpsert(true))
	return err
}

// version is that of the module: a FerretDB inside another program does not know its own.
func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/FerretDB/FerretDB" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func addIndexes(ctx context.Context, data string) error {
	files, err := filepath.Glob(filepath.Join(data, "*.sqlite"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := addIndexesTo(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func addIndexesTo(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, unindexed)
	if err != nil {
		return err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return err
		}
		tables = append(tables, table)
	}
	for _, table := range tables {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(index, table+"_look_up", table)); err != nil {
			return err
		}
	}
	return rows.Err()
}
