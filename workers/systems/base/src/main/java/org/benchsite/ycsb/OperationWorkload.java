package org.benchsite.ycsb;

import java.util.Properties;

import site.ycsb.DB;
import site.ycsb.WorkloadException;
import site.ycsb.workloads.CoreWorkload;

/** YCSB's workload with the choice of an operation apart from its execution. */
public class OperationWorkload extends CoreWorkload {
    @Override
    public void init(Properties properties) throws WorkloadException {
        super.init(properties);
        if (operationchooser == null) {
            throw new WorkloadException("this YCSB does not show how it chooses operations");
        }
    }

    /** The name of the next operation, as YCSB chooses among them. */
    String chooseOperation() {
        return operationchooser.nextString();
    }

    void execute(DB db, String operation) {
        switch (operation) {
            case "READ":
                doTransactionRead(db);
                break;
            case "UPDATE":
                doTransactionUpdate(db);
                break;
            case "INSERT":
                doTransactionInsert(db);
                break;
            case "SCAN":
                doTransactionScan(db);
                break;
            default:
                doTransactionReadModifyWrite(db);
        }
    }
}
