from benchsite_client.main import entry

if __name__ == "__main__":
    entry()
